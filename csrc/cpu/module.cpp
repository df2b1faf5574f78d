// The arithmetic of the kernels on the CPU, for tests: the same headers, with threads for the
// threads of a block. Tensors are addresses, sizes and strides in elements, as for the kernels.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "activation/swiglu.cuh"
#include "common/element.cuh"
#include "common/host_group.h"
#include "norm/add_rms_norm.cuh"
#include "norm/rms_norm.cuh"
#include "operators/launch_shape.h"
#include "pooling/mean_pool.cuh"
#include "rotary/rotary.cuh"
#include "sampling/philox.cuh"
#include "sampling/sample.cuh"

namespace py = pybind11;
using namespace enginewright;

namespace {

template <class T>
T* at(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

// Calls `work` with a value of the element type that `dtype` names.
template <class Work>
void with_element(const std::string& dtype, Work work) {
  if (dtype == "float16") {
    work(Float16{});
  } else if (dtype == "bfloat16") {
    work(BFloat16{});
  } else {
    throw std::invalid_argument("dtype is float16 or bfloat16, not " + dtype);
  }
}

void rms_norm(const std::string& dtype, uintptr_t x, uintptr_t weight, uintptr_t y, int64_t rows,
              int64_t columns, int64_t x_stride, int64_t y_stride, float epsilon, int threads) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    run_group(threads, [&](HostGroup& group) {
      for (int64_t row = 0; row < rows; ++row) {
        rms_norm_row<T, 4>(group, at<const T>(x) + row * x_stride, at<const T>(weight),
                           at<T>(y) + row * y_stride, columns, epsilon);
      }
    });
  });
}

void add_rms_norm(const std::string& dtype, uintptr_t x, uintptr_t residual, uintptr_t weight,
                  uintptr_t sum, uintptr_t y, int64_t rows, int64_t columns, int64_t x_stride,
                  int64_t residual_stride, int64_t sum_stride, int64_t y_stride, float epsilon,
                  int threads) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    run_group(threads, [&](HostGroup& group) {
      for (int64_t row = 0; row < rows; ++row) {
        add_rms_norm_row<T, 2>(group, at<const T>(x) + row * x_stride,
                               at<const T>(residual) + row * residual_stride,
                               at<const T>(weight), at<T>(sum) + row * sum_stride,
                               at<T>(y) + row * y_stride, columns, epsilon);
      }
    });
  });
}

void swiglu(const std::string& dtype, uintptr_t gate, uintptr_t up, uintptr_t y, int64_t rows,
            int64_t columns, int64_t gate_stride, int64_t up_stride, int64_t y_stride,
            int threads) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    const int64_t parts = swiglu_parts(columns, threads, 2);
    run_group(threads, [&](HostGroup& group) {
      for (int64_t index = 0; index < rows * parts; ++index) {
        const int64_t row = index / parts;
        swiglu_part<T, 2>(group, at<const T>(gate) + row * gate_stride,
                          at<const T>(up) + row * up_stride, at<T>(y) + row * y_stride, columns,
                          index % parts, parts);
      }
    });
  });
}

void rotary(const std::string& dtype, bool interleaved, uintptr_t x, uintptr_t y,
            uintptr_t cosine, uintptr_t sine, int64_t tokens, int64_t heads, int64_t dimension,
            int64_t rotary_dimension, int64_t x_token_stride, int64_t x_head_stride,
            int64_t y_token_stride, int64_t y_head_stride, int threads) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    run_group(threads, [&](HostGroup& group) {
      for (int64_t token = 0; token < tokens; ++token) {
        const auto turn = interleaved ? rotary_token<T, true, float> : rotary_token<T, false, float>;
        turn(group.rank(), group.size(), HeadRange{0, heads, 1},
             at<const T>(x) + token * x_token_stride, at<T>(y) + token * y_token_stride,
             Angles<float>{at<const float>(cosine), at<const float>(sine), nullptr, token,
                    rotary_dimension / 2},
             dimension, x_head_stride, y_head_stride);
      }
    });
  });
}

void mean_pool(const std::string& dtype, uintptr_t x, uintptr_t mask, uintptr_t partial,
               uintptr_t y, int64_t batch, int64_t sequence, int64_t columns,
               int64_t batch_stride, int64_t sequence_stride, int64_t splits, bool normalize,
               int threads) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    const int64_t length = (sequence + splits - 1) / splits;
    for (int64_t item = 0; item < batch; ++item) {
      const T* from = at<const T>(x) + item * batch_stride;
      const int64_t* item_mask = at<const int64_t>(mask) + item * sequence;
      float* sums = at<float>(partial) + item * splits * columns;
      const bool aligned = is_packet_aligned(from) && sequence_stride % kPacketElements == 0;
      const int64_t packets = packets_of<T>(columns, aligned);
      for (int64_t split = 0; split < splits; ++split) {
        const TokenRange tokens{split * length, std::min(sequence, (split + 1) * length),
                                kRun};
        float* to = sums + split * columns;
        for (int64_t index = 0; index < packets; ++index) {
          float eight[kPacketElements] = {};
          const uint64_t counted =
              masked_sum_packet(from, item_mask, sequence_stride, tokens, index, eight);
          if (counted != count_tokens(item_mask, tokens)) {
            throw std::logic_error("a packet counted other tokens than the mask has");
          }
          std::copy(eight, eight + kPacketElements, to + index * kPacketElements);
        }
        for (int64_t column = packets * kPacketElements; column < columns; ++column) {
          to[column] = masked_sum_element(from, item_mask, sequence_stride, tokens, column);
        }
      }
      run_group(threads, [&](HostGroup& group) {
        const TokenRange tokens{group.rank() * kRun, sequence, int64_t{group.size()} * kRun};
        finish_pool(group, sums, count_tokens(item_mask, tokens), at<float>(y) + item * columns,
                    splits, columns, normalize);
      });
    }
  });
}

void sample(const std::string& dtype, uintptr_t logits, uintptr_t tokens, int64_t rows,
            int64_t columns, int64_t stride, float temperature, int64_t top_k, float top_p,
            uint64_t seed, uint64_t step, int threads, bool searched) {
  const SamplingSettings settings{temperature, top_k, top_p, seed, step};
  const auto draw = [&](auto element) {
    using T = decltype(element);
    Candidates list;
    run_group(threads, [&](HostGroup& group) {
      for (int64_t row = 0; row < rows; ++row) {
        const int64_t token =
            sample_row(group, searched ? nullptr : &list, at<const T>(logits) + row * stride, columns, row, settings);
        if (group.rank() == 0) at<int64_t>(tokens)[row] = token;
      }
    });
  };
  if (dtype == "float32") {
    draw(float{});
  } else {
    with_element(dtype, draw);
  }
}

// Rounds `count` floats to 16-bit patterns and widens those again.
void convert(const std::string& dtype, uintptr_t from, uintptr_t rounded, uintptr_t widened,
             int64_t count) {
  with_element(dtype, [&](auto element) {
    using T = decltype(element);
    for (int64_t index = 0; index < count; ++index) {
      at<T>(rounded)[index] = from_float<T>(at<const float>(from)[index]);
      at<float>(widened)[index] = to_float(at<T>(rounded)[index]);
    }
  });
}

py::tuple philox_words(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t key_low,
                       uint32_t key_high) {
  const PhiloxWords words = philox({{a, b, c, d}}, key_low, key_high);
  return py::make_tuple(words.word[0], words.word[1], words.word[2], words.word[3]);
}

}  // namespace

PYBIND11_MODULE(host_kernels, module) {
  // The threads of a group never touch Python, so the interpreter may go on.
  const auto free = py::call_guard<py::gil_scoped_release>();
  module.def("rms_norm", &rms_norm, free);
  module.def("add_rms_norm", &add_rms_norm, free);
  module.def("swiglu", &swiglu, free);
  module.def("rotary", &rotary, free);
  module.def("mean_pool", &mean_pool, free);
  module.def("sample", &sample, free);
  module.def("convert", &convert, free);
  module.def("philox", &philox_words);
  const auto shape = [](const BlockShape& block) {
    return py::make_tuple(block.x, block.y, block.z);
  };
  module.def("row_block", [shape](int64_t columns, int64_t packets_a_thread) {
    return shape(row_block(columns, packets_a_thread));
  });
  module.def("rotary_block", [shape](int64_t heads, int64_t dimension, int64_t rotary) {
    return shape(rotary_block(heads, dimension, rotary));
  });
  module.def("pool_block", [shape](int64_t columns, int64_t tokens, int64_t items) {
    return shape(pool_block(columns, tokens, items));
  });
  module.def("token_place", [](int64_t token, int64_t batch, int64_t sequence) {
    const TokenPlace place = token_place(token, batch, sequence);
    return py::make_tuple(place.item, place.index);
  });
}
