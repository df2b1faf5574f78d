// The kernels as operators of the domain `enginewright` for ONNX Runtime's CUDA and CPU providers: what
// `SessionOptions.register_custom_ops_library` loads. Names, inputs, outputs and attributes are those
// of the functions that a model of this project has for them (`enginewright.passes.operators`).
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "operators/onnxruntime_api.h"
#include "operators/run.cuh"

using enginewright::BFloat16;
using enginewright::Float16;
using enginewright::Place;
using namespace onnxruntime_api;

namespace onnxruntime_api {

// What ONNX Runtime says went wrong goes back to it as it is. Its name is in the library, and in a
// namespace without a name it would have a hash of the compiler's temporary files in it.
struct Failed {
  Status* status;
};

}  // namespace onnxruntime_api

namespace {

const Table* api = nullptr;

template <class Result, class... Arguments>
Result call(Entry entry, Arguments... arguments) {
  using Typed = Result (*)(Arguments...);
  return reinterpret_cast<Typed>(api->functions[entry])(arguments...);
}

template <class... Arguments>
void require(Entry entry, Arguments... arguments) {
  if (Status* status = call<Status*>(entry, arguments...)) throw Failed{status};
}

void require(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

using Shape = std::vector<int64_t>;

int64_t product(const Shape& shape, size_t first, size_t end) {
  int64_t result = 1;
  for (size_t axis = first; axis < end; ++axis) result *= shape[axis];
  return result;
}

struct Tensor {
  Shape shape;
  void* data;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t count() const { return product(shape, 0, shape.size()); }
  int64_t last() const { return shape.empty() ? 1 : shape.back(); }
};

class Context {
 public:
  Context(KernelContext* context, bool on_device) : context_(context), place_{on_device, nullptr} {
    if (!on_device) return;
    void* stream = nullptr;
    require(kKernelContextGetGpuComputeStream, static_cast<const KernelContext*>(context), &stream);
    place_.stream = static_cast<cudaStream_t>(stream);
  }

  const Place& place() const { return place_; }

  Tensor input(size_t index) const {
    const Value* value = nullptr;
    require(kKernelContextGetInput, static_cast<const KernelContext*>(context_), index, &value);
    return {shape_of(value), data_of(const_cast<Value*>(value))};
  }

  Tensor output(size_t index, const Shape& shape) const {
    Value* value = nullptr;
    require(kKernelContextGetOutput, context_, index, shape.data(), shape.size(), &value);
    return {shape, data_of(value)};
  }

 private:
  static void* data_of(Value* value) {
    void* data = nullptr;
    require(kGetTensorMutableData, value, &data);
    return data;
  }

  static Shape shape_of(const Value* value) {
    ShapeInfo* info = nullptr;
    require(kGetTensorTypeAndShape, value, &info);
    const auto release = [](ShapeInfo* held) { call<void>(kReleaseTensorTypeAndShapeInfo, held); };
    const std::unique_ptr<ShapeInfo, decltype(release)> owner(info, release);
    size_t axes = 0;
    require(kGetDimensionsCount, static_cast<const ShapeInfo*>(info), &axes);
    Shape shape(axes);
    require(kGetDimensions, static_cast<const ShapeInfo*>(info), shape.data(), axes);
    return shape;
  }

  KernelContext* context_;
  Place place_;
};

class Attributes {
 public:
  explicit Attributes(const KernelInfo* info) : info_(info) {}

  float number(const char* name) const {
    float value = 0;
    require(kKernelInfoGetAttributeFloat, info_, name, &value);
    return value;
  }
  int64_t integer(const char* name) const {
    int64_t value = 0;
    require(kKernelInfoGetAttributeInt64, info_, name, &value);
    return value;
  }

 private:
  const KernelInfo* info_;
};

template <class T>
constexpr ElementType kElement = kFloat32;
template <>
constexpr ElementType kElement<Float16> = kFloat16;
template <>
constexpr ElementType kElement<BFloat16> = kBFloat16;

// An operator whose tensors are all of type T.
template <class T>
struct Alike {
  static ElementType input(size_t) { return kElement<T>; }
  static ElementType output(size_t) { return kElement<T>; }
  static MemoryType memory(size_t) { return kOnDevice; }
};

template <class T>
struct RmsNorm : Alike<T> {
  static constexpr const char* kName = "rms_norm";
  static constexpr int kInputs = 2, kOutputs = 1;
  float epsilon;
  explicit RmsNorm(const Attributes& given) : epsilon(given.number("epsilon")) {}

  void compute(const Context& context) const {
    const Tensor x = context.input(0), weight = context.input(1);
    require(weight.count() == x.last(), "rms_norm: a weight for each column");
    const Tensor y = context.output(0, x.shape);
    const int64_t rows = x.count() / std::max<int64_t>(1, x.last());
    enginewright::run_rms_norm(context.place(), x.as<const T>(), weight.as<const T>(), y.as<T>(),
                               rows, x.last(), epsilon);
  }
};

template <class T>
struct AddRmsNorm : Alike<T> {
  static constexpr const char* kName = "add_rms_norm";
  static constexpr int kInputs = 3, kOutputs = 2;
  float epsilon;
  explicit AddRmsNorm(const Attributes& given) : epsilon(given.number("epsilon")) {}

  void compute(const Context& context) const {
    const Tensor x = context.input(0), residual = context.input(1), weight = context.input(2);
    require(x.shape == residual.shape, "add_rms_norm: two tensors of one shape");
    require(weight.count() == x.last(), "add_rms_norm: a weight for each column");
    const Tensor y = context.output(0, x.shape), sum = context.output(1, x.shape);
    const int64_t rows = x.count() / std::max<int64_t>(1, x.last());
    enginewright::run_add_rms_norm(context.place(), x.as<const T>(), residual.as<const T>(),
                                   weight.as<const T>(), sum.as<T>(), y.as<T>(), rows, x.last(),
                                   epsilon);
  }
};

template <class T>
struct Swiglu : Alike<T> {
  static constexpr const char* kName = "swiglu";
  static constexpr int kInputs = 2, kOutputs = 1;
  explicit Swiglu(const Attributes&) {}

  void compute(const Context& context) const {
    const Tensor gate = context.input(0), up = context.input(1);
    require(gate.shape == up.shape, "swiglu: two tensors of one shape");
    const Tensor y = context.output(0, gate.shape);
    enginewright::run_swiglu(context.place(), gate.as<const T>(), up.as<const T>(), y.as<T>(),
                             gate.count());
  }
};

// x [batch, heads, sequence, dimension]; cosine and sine [batch, sequence, rotary / 2].
template <class T>
struct Rotary : Alike<T> {
  static constexpr const char* kName = "rotary";
  static constexpr int kInputs = 3, kOutputs = 1;
  int64_t interleaved, rotary;
  explicit Rotary(const Attributes& given)
      : interleaved(given.integer("interleaved")), rotary(given.integer("rotary_embedding_dim")) {}

  void compute(const Context& context) const {
    const Tensor x = context.input(0), cosine = context.input(1), sine = context.input(2);
    require(x.shape.size() == 4, "rotary: x [batch, heads, sequence, dimension]");
    const int64_t heads = x.shape[1], sequence = x.shape[2], dimension = x.shape[3];
    const int64_t turned = rotary == 0 ? dimension : rotary;
    const Shape table{x.shape[0], sequence, turned / 2};
    require(turned <= dimension && cosine.shape == table && sine.shape == table,
            "rotary: tables [batch, sequence, rotary / 2]");
    const Tensor y = context.output(0, x.shape);
    const enginewright::HeadsLayout at{x.shape[0], sequence, heads, dimension,
                                       heads * sequence * dimension, dimension,
                                       sequence * dimension};
    enginewright::run_rotary(context.place(), x.as<const T>(), cosine.as<const T>(),
                             sine.as<const T>(), y.as<T>(), at, turned, interleaved != 0);
  }
};

// x [batch, sequence, columns], mask int64 [batch, sequence]; y float32 [batch, columns].
template <class T>
struct MeanPool : Alike<T> {
  static constexpr const char* kName = "mean_pool";
  static constexpr int kInputs = 2, kOutputs = 1;
  int64_t normalize;
  static ElementType input(size_t index) { return index == 1 ? kInt64 : kElement<T>; }
  static ElementType output(size_t) { return kFloat32; }
  explicit MeanPool(const Attributes& given) : normalize(given.integer("normalize")) {}

  void compute(const Context& context) const {
    const Tensor x = context.input(0), mask = context.input(1);
    require(x.shape.size() == 3 && mask.shape == Shape({x.shape[0], x.shape[1]}),
            "mean_pool: x [batch, sequence, columns] and a mask [batch, sequence]");
    const Tensor y = context.output(0, {x.shape[0], x.shape[2]});
    enginewright::run_mean_pool(context.place(), x.as<const T>(), mask.as<const int64_t>(),
                                y.as<float>(), x.shape[0], x.shape[1], x.shape[2], normalize != 0);
  }
};

// logits [rows, vocabulary]; seed and step int64, one number each, on the CPU; tokens int64 [rows].
template <class T>
struct Sample : Alike<T> {
  static constexpr const char* kName = "sample";
  static constexpr int kInputs = 3, kOutputs = 1;
  float temperature, top_p;
  int64_t top_k;
  static ElementType input(size_t index) { return index == 0 ? kElement<T> : kInt64; }
  static ElementType output(size_t) { return kInt64; }
  static MemoryType memory(size_t index) { return index == 0 ? kOnDevice : kOnProcessor; }
  explicit Sample(const Attributes& given)
      : temperature(given.number("temperature")),
        top_p(given.number("top_p")),
        top_k(given.integer("top_k")) {}

  void compute(const Context& context) const {
    const Tensor logits = context.input(0), seed = context.input(1), step = context.input(2);
    require(logits.shape.size() == 2 && logits.last() > 0 &&
                logits.last() <= enginewright::kMostColumns,
            "sample: logits [rows, vocabulary] of at most 4194304 tokens");
    require(seed.count() == 1 && step.count() == 1, "sample: one seed and one step");
    const Tensor tokens = context.output(0, {logits.shape[0]});
    const enginewright::SamplingSettings settings{
        temperature, top_k, top_p, static_cast<uint64_t>(*seed.as<const int64_t>()),
        static_cast<uint64_t>(*step.as<const int64_t>())};
    enginewright::run_sample(context.place(), logits.as<const T>(), tokens.as<int64_t>(),
                             logits.shape[0], logits.last(), settings);
  }
};

// Runs `work`; what it throws becomes a status.
template <class Work>
Status* guarded(Work work) {
  const auto create = [](ErrorCode code, const char* message) {
    return call<Status*>(kCreateStatus, code, message);
  };
  try {
    work();
    return nullptr;
  } catch (const Failed& failed) {
    return failed.status;
  } catch (const std::invalid_argument& error) {
    return create(kInvalidArgument, error.what());
  } catch (const std::exception& error) {
    return create(kFail, error.what());
  }
}

template <class K, bool kCuda>
struct Registered {
  static Operator make() {
    Operator made{};
    made.version = kOperatorVersion;
    made.GetName = [](const Operator*) { return K::kName; };
    made.GetExecutionProviderType = [](const Operator*) {
      return kCuda ? "CUDAExecutionProvider" : "CPUExecutionProvider";
    };
    made.GetInputType = [](const Operator*, size_t index) { return K::input(index); };
    made.GetInputTypeCount = [](const Operator*) { return size_t{K::kInputs}; };
    made.GetOutputType = [](const Operator*, size_t index) { return K::output(index); };
    made.GetOutputTypeCount = [](const Operator*) { return size_t{K::kOutputs}; };
    made.GetInputCharacteristic = [](const Operator*, size_t) { return kRequired; };
    made.GetOutputCharacteristic = [](const Operator*, size_t) { return kRequired; };
    made.GetInputMemoryType = [](const Operator*, size_t index) {
      return kCuda ? K::memory(index) : kOnDevice;
    };
    made.KernelDestroy = [](void* kernel) { delete static_cast<K*>(kernel); };
    made.CreateKernelV2 = [](const Operator*, const Table*, const KernelInfo* info, void** made) {
      return guarded([&] { *made = new K(Attributes(info)); });
    };
    made.KernelComputeV2 = [](void* kernel, KernelContext* context) {
      return guarded([&] { static_cast<K*>(kernel)->compute(Context(context, kCuda)); });
    };
    return made;
  }
};

// Every operator for every type and both providers; ONNX Runtime keeps pointers to them.
const std::vector<Operator>& operators() {
  static const std::vector<Operator> all = [] {
    std::vector<Operator> made;
    const auto of_type = [&made](auto* null) {
      using T = std::remove_pointer_t<decltype(null)>;
      const auto add = [&made](auto* kernel) {
        using K = std::remove_pointer_t<decltype(kernel)>;
        made.push_back(Registered<K, true>::make());
        made.push_back(Registered<K, false>::make());
      };
      add(static_cast<RmsNorm<T>*>(nullptr));
      add(static_cast<AddRmsNorm<T>*>(nullptr));
      add(static_cast<Swiglu<T>*>(nullptr));
      add(static_cast<Rotary<T>*>(nullptr));
      add(static_cast<MeanPool<T>*>(nullptr));
      add(static_cast<Sample<T>*>(nullptr));
    };
    of_type(static_cast<Float16*>(nullptr));
    of_type(static_cast<BFloat16*>(nullptr));
    of_type(static_cast<float*>(nullptr));
    return made;
  }();
  return all;
}

// Made once: sessions share it, and it lives as long as the library.
Domain* domain() {
  static Domain* made = [] {
    Domain* created = nullptr;
    require(kCreateCustomOpDomain, "enginewright", &created);
    for (const Operator& one : operators()) require(kCustomOpDomainAdd, created, &one);
    return created;
  }();
  return made;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Status* RegisterCustomOps(
    SessionOptions* options, const Base* base) {
  api = base->GetApi(kVersion);
  if (api == nullptr) return nullptr;  // it has printed that it knows no such version
  return guarded([options] { require(kAddCustomOpDomain, options, domain()); });
}
