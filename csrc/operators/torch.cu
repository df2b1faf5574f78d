// The kernels as torch operators of the namespace `enginewright`, over the stable interface of
// libtorch: one library for every torch from 2.11 on, with CUDA or without. Tensors are contiguous,
// of one type and on one device; anything else is refused in words.
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <tuple>

#include "operators/run.cuh"

using enginewright::BFloat16;
using enginewright::Float16;
using enginewright::Place;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

namespace {

// torch's own stream of a device. libtorch_cuda is not linked, so that the library loads where it is
// not; whoever has a CUDA tensor has loaded it.
cudaStream_t stream_of(const Tensor& tensor) {
  using Get = AOTITorchError (*)(int32_t, void**);
  static const Get get = [] {
    void* library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    void* found = library ? dlsym(library, "aoti_torch_get_current_cuda_stream") : nullptr;
    return reinterpret_cast<Get>(found);
  }();
  STD_TORCH_CHECK(get != nullptr, "enginewright: libtorch_cuda.so is not loaded");
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(get(tensor.get_device(), &stream));
  return static_cast<cudaStream_t>(stream);
}

// The place of a tensor; its device is the current one while this lives.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(const Tensor& tensor) : place_{tensor.is_cuda(), nullptr} {
    if (!place_.on_device) return;
    STD_TORCH_CHECK(cudaGetDevice(&before_) == cudaSuccess, "enginewright: no current device");
    cudaSetDevice(tensor.get_device());
    place_.stream = stream_of(tensor);
  }
  ~OnDeviceOf() {
    if (place_.on_device) cudaSetDevice(before_);
  }
  OnDeviceOf(const OnDeviceOf&) = delete;
  OnDeviceOf& operator=(const OnDeviceOf&) = delete;

  const Place& place() const { return place_; }

 private:
  Place place_;
  int before_ = 0;
};

void require_alike(const char* name, const Tensor& first, std::initializer_list<Tensor> others) {
  STD_TORCH_CHECK(first.is_contiguous(), name, " wants contiguous tensors");
  for (const Tensor& other : others) {
    STD_TORCH_CHECK(other.is_contiguous(), name, " wants contiguous tensors");
    STD_TORCH_CHECK(other.scalar_type() == first.scalar_type(), name, " wants tensors of one type");
    STD_TORCH_CHECK(other.is_cuda() == first.is_cuda() &&
                        (!first.is_cuda() || other.get_device() == first.get_device()),
                    name, " wants tensors on one device");
  }
}

void require_sizes(const char* name, const Tensor& tensor, std::initializer_list<int64_t> sizes) {
  STD_TORCH_CHECK(tensor.dim() == static_cast<int64_t>(sizes.size()), name,
                  " got a tensor with another number of axes");
  int64_t axis = 0;
  for (const int64_t size : sizes) {
    STD_TORCH_CHECK(tensor.size(axis++) == size, name, " got tensors whose sizes do not agree");
  }
}

bool same_sizes(const Tensor& a, const Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (int64_t axis = 0; axis < a.dim(); ++axis) {
    if (a.size(axis) != b.size(axis)) return false;
  }
  return true;
}

template <class T>
T* data(const Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

// Calls `work` with a null pointer to the element type of `tensor`.
template <class Work>
void with_element(const char* name, const Tensor& tensor, Work work) {
  switch (tensor.scalar_type()) {
    case ScalarType::Half:
      return work(static_cast<Float16*>(nullptr));
    case ScalarType::BFloat16:
      return work(static_cast<BFloat16*>(nullptr));
    case ScalarType::Float:
      return work(static_cast<float*>(nullptr));
    default:
      STD_TORCH_CHECK(false, name, " wants float16, bfloat16 or float32");
  }
}

int64_t last_size(const char* name, const Tensor& tensor) {
  STD_TORCH_CHECK(tensor.dim() > 0, name, " wants tensors with an axis");
  return tensor.size(tensor.dim() - 1);
}

int64_t rows_of(const Tensor& tensor, int64_t columns) {
  return columns == 0 ? 0 : tensor.numel() / columns;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  require_alike("rms_norm", x, {weight});
  const int64_t columns = last_size("rms_norm", x);
  require_sizes("rms_norm", weight, {columns});
  Tensor y = torch::stable::empty_like(x);
  const OnDeviceOf device(x);
  with_element("rms_norm", x, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_rms_norm(device.place(), data<const T>(x), data<const T>(weight), data<T>(y),
                               rows_of(x, columns), columns, static_cast<float>(epsilon));
  });
  return y;
}

std::tuple<Tensor, Tensor> add_rms_norm(const Tensor& x, const Tensor& residual,
                                        const Tensor& weight, double epsilon) {
  require_alike("add_rms_norm", x, {residual, weight});
  STD_TORCH_CHECK(same_sizes(x, residual), "add_rms_norm adds tensors of one shape");
  const int64_t columns = last_size("add_rms_norm", x);
  require_sizes("add_rms_norm", weight, {columns});
  Tensor y = torch::stable::empty_like(x), sum = torch::stable::empty_like(x);
  const OnDeviceOf device(x);
  with_element("add_rms_norm", x, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_add_rms_norm(device.place(), data<const T>(x), data<const T>(residual),
                                   data<const T>(weight), data<T>(sum), data<T>(y),
                                   rows_of(x, columns), columns, static_cast<float>(epsilon));
  });
  return {y, sum};
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  require_alike("swiglu", gate, {up});
  STD_TORCH_CHECK(same_sizes(gate, up), "swiglu wants tensors of one shape");
  Tensor y = torch::stable::empty_like(gate);
  const OnDeviceOf device(gate);
  with_element("swiglu", gate, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_swiglu(device.place(), data<const T>(gate), data<const T>(up), data<T>(y),
                             gate.numel());
  });
  return y;
}

Tensor rotary(const Tensor& x, const Tensor& cosine, const Tensor& sine, bool interleaved) {
  require_alike("rotary", x, {cosine, sine});
  STD_TORCH_CHECK(x.dim() == 4, "rotary wants x [batch, sequence, heads, dimension]");
  const int64_t batch = x.size(0), sequence = x.size(1), heads = x.size(2), dimension = x.size(3);
  const int64_t half = last_size("rotary", cosine);
  require_sizes("rotary", cosine, {batch, sequence, half});
  require_sizes("rotary", sine, {batch, sequence, half});
  STD_TORCH_CHECK(2 * half <= dimension, "rotary got more angles than a head has pairs");
  Tensor y = torch::stable::empty_like(x);
  const OnDeviceOf device(x);
  const enginewright::HeadsLayout at{batch,     sequence,
                                     heads,     dimension,
                                     sequence * heads * dimension, heads * dimension,
                                     dimension};
  with_element("rotary", x, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_rotary(device.place(), data<const T>(x), data<const T>(cosine),
                             data<const T>(sine), data<T>(y), at, 2 * half, interleaved);
  });
  return y;
}

Tensor mean_pool(const Tensor& x, const Tensor& mask, bool normalize) {
  STD_TORCH_CHECK(x.dim() == 3, "mean_pool wants x [batch, sequence, columns]");
  const int64_t batch = x.size(0), sequence = x.size(1), columns = x.size(2);
  require_alike("mean_pool", x, {});
  require_sizes("mean_pool", mask, {batch, sequence});
  STD_TORCH_CHECK(mask.is_contiguous() && mask.scalar_type() == ScalarType::Long,
                  "mean_pool wants a contiguous mask of int64");
  STD_TORCH_CHECK(mask.is_cuda() == x.is_cuda(), "mean_pool wants tensors on one device");
  Tensor y = torch::stable::new_empty(x, {batch, columns}, ScalarType::Float);
  const OnDeviceOf device(x);
  with_element("mean_pool", x, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_mean_pool(device.place(), data<const T>(x), data<const int64_t>(mask),
                                data<float>(y), batch, sequence, columns, normalize);
  });
  return y;
}

Tensor sample(const Tensor& logits, double temperature, int64_t top_k, double top_p, int64_t seed,
              int64_t step) {
  require_alike("sample", logits, {});
  STD_TORCH_CHECK(logits.dim() == 2, "sample wants logits [rows, vocabulary]");
  const int64_t rows = logits.size(0), columns = logits.size(1);
  STD_TORCH_CHECK(columns > 0 && columns <= enginewright::kMostColumns,
                  "sample wants 1 to 4194304 logits a row");
  Tensor tokens = torch::stable::new_empty(logits, {rows}, ScalarType::Long);
  const enginewright::SamplingSettings settings{
      static_cast<float>(temperature), top_k, static_cast<float>(top_p),
      static_cast<uint64_t>(seed), static_cast<uint64_t>(step)};
  const OnDeviceOf device(logits);
  with_element("sample", logits, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    enginewright::run_sample(device.place(), data<const T>(logits), data<int64_t>(tokens), rows,
                             columns, settings);
  });
  return tokens;
}

}  // namespace

STABLE_TORCH_LIBRARY(enginewright, library) {
  library.def("rms_norm(Tensor x, Tensor weight, float epsilon) -> Tensor");
  library.def(
      "add_rms_norm(Tensor x, Tensor residual, Tensor weight, float epsilon) -> (Tensor, Tensor)");
  library.def("swiglu(Tensor gate, Tensor up) -> Tensor");
  library.def("rotary(Tensor x, Tensor cosine, Tensor sine, bool interleaved) -> Tensor");
  library.def("mean_pool(Tensor x, Tensor mask, bool normalize) -> Tensor");
  library.def(
      "sample(Tensor logits, float temperature, int top_k, float top_p, int seed, int step) -> "
      "Tensor");
}

#define EW_IMPLEMENT(library)                               \
  library.impl("rms_norm", TORCH_BOX(&rms_norm));           \
  library.impl("add_rms_norm", TORCH_BOX(&add_rms_norm));   \
  library.impl("swiglu", TORCH_BOX(&swiglu));               \
  library.impl("rotary", TORCH_BOX(&rotary));               \
  library.impl("mean_pool", TORCH_BOX(&mean_pool));         \
  library.impl("sample", TORCH_BOX(&sample))

STABLE_TORCH_LIBRARY_IMPL(enginewright, CPU, library) { EW_IMPLEMENT(library); }
STABLE_TORCH_LIBRARY_IMPL(enginewright, CUDA, library) { EW_IMPLEMENT(library); }
