// The part of ONNX Runtime's C interface that operators of one's own need. The table of functions only
// grows at its end, so a function's place in it never changes; the entries of release 1.21 (version 21
// of the interface) hold for every later one. What is declared here is called by the tests with the
// locked library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace onnxruntime_api {

constexpr uint32_t kVersion = 21;
constexpr uint32_t kOperatorVersion = 16;
// From 16 on an operator's functions return a status; the fields that came later are not read then.

struct Status;
struct KernelInfo;
struct KernelContext;
struct Value;
struct ShapeInfo;
struct SessionOptions;
struct Domain;

enum ElementType { kFloat32 = 1, kInt64 = 7, kFloat16 = 10, kBFloat16 = 16 };
enum MemoryType { kOnProcessor = -2, kOnDevice = 0 };
enum Characteristic { kRequired = 0 };
enum ErrorCode { kFail = 1, kInvalidArgument = 2 };

using Function = void (*)();

// Indices in the table of functions.
enum Entry {
  kCreateStatus = 0,
  kCreateCustomOpDomain = 26,
  kCustomOpDomainAdd = 27,
  kAddCustomOpDomain = 28,
  kGetTensorMutableData = 51,
  kGetDimensionsCount = 61,
  kGetDimensions = 62,
  kGetTensorTypeAndShape = 65,
  kKernelInfoGetAttributeFloat = 85,
  kKernelInfoGetAttributeInt64 = 86,
  kKernelContextGetInput = 90,
  kKernelContextGetOutput = 91,
  kReleaseTensorTypeAndShapeInfo = 99,
  kKernelContextGetGpuComputeStream = 193,
};

struct Table {
  Function functions[kKernelContextGetGpuComputeStream + 1];
};

struct Base {
  const Table* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

// An operator, as ONNX Runtime calls it.
struct Operator {
  uint32_t version;
  void* (*CreateKernel)(const Operator*, const Table*, const KernelInfo*);
  const char* (*GetName)(const Operator*);
  const char* (*GetExecutionProviderType)(const Operator*);
  ElementType (*GetInputType)(const Operator*, size_t);
  size_t (*GetInputTypeCount)(const Operator*);
  ElementType (*GetOutputType)(const Operator*, size_t);
  size_t (*GetOutputTypeCount)(const Operator*);
  void (*KernelCompute)(void*, KernelContext*);
  void (*KernelDestroy)(void*);
  Characteristic (*GetInputCharacteristic)(const Operator*, size_t);
  Characteristic (*GetOutputCharacteristic)(const Operator*, size_t);
  MemoryType (*GetInputMemoryType)(const Operator*, size_t);
  int (*GetVariadicInputMinArity)(const Operator*);
  int (*GetVariadicInputHomogeneity)(const Operator*);
  int (*GetVariadicOutputMinArity)(const Operator*);
  int (*GetVariadicOutputHomogeneity)(const Operator*);
  Status* (*CreateKernelV2)(const Operator*, const Table*, const KernelInfo*, void**);
  Status* (*KernelComputeV2)(void*, KernelContext*);
  void* later[7];
};

}  // namespace onnxruntime_api
