// The group of `group.cuh` on the CPU: real threads, so that a missing barrier or an element that
// two threads write shows up in a sanitizer.
#pragma once

#include <barrier>
#include <cstdint>
#include <thread>
#include <vector>

#include "common/element.cuh"

namespace enginewright {

class HostGroup {
 public:
  class Shared {
   public:
    explicit Shared(int size) : barrier(size), floats(size), integers(size) {}
    std::barrier<> barrier;
    std::vector<float> floats;
    std::vector<uint64_t> integers;
  };

  HostGroup(Shared& shared, int rank, int size) : shared_(shared), rank_(rank), size_(size) {}

  int rank() const { return rank_; }
  int size() const { return size_; }

  template <class V>
  V sum(V value) {
    return reduce(value, [](V a, V b) { return a + b; });
  }

  template <class V>
  V maximum(V value) {
    return reduce(value, [](V a, V b) { return a < b ? b : a; });
  }

  uint64_t sum_before(uint64_t value, uint64_t& total) {
    shared_.integers[rank_] = value;
    shared_.barrier.arrive_and_wait();
    uint64_t before = 0;
    total = 0;
    for (int other = 0; other < size_; ++other) {
      if (other < rank_) before += shared_.integers[other];
      total += shared_.integers[other];
    }
    shared_.barrier.arrive_and_wait();
    return before;
  }

  uint32_t count(bool holds) { return static_cast<uint32_t>(sum(uint64_t{holds})); }

  void wait() { shared_.barrier.arrive_and_wait(); }

 private:
  std::vector<float>& slots(float) { return shared_.floats; }
  std::vector<uint64_t>& slots(uint64_t) { return shared_.integers; }

  template <class V, class Combine>
  V reduce(V value, Combine combine) {
    std::vector<V>& all = slots(value);
    all[rank_] = value;
    shared_.barrier.arrive_and_wait();
    V result = all[0];
    for (int other = 1; other < size_; ++other) result = combine(result, all[other]);
    shared_.barrier.arrive_and_wait();
    return result;
  }

  Shared& shared_;
  int rank_;
  int size_;
};

// Runs `work(group)` in `size` threads and waits for all of them.
template <class Work>
void run_group(int size, Work work) {
  HostGroup::Shared shared(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&shared, rank, size, work] {
      HostGroup group(shared, rank, size);
      work(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace enginewright
