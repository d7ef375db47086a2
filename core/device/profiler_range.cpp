// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "device/profiler_range.hpp"

#ifdef SLUICE_WITH_CUDA
#include <nvtx3/nvToolsExt.h>
#endif

namespace sluice {

#ifdef SLUICE_WITH_CUDA

namespace {

// One domain, so that a profiler can show or hide what is sluice's.
nvtxDomainHandle_t domain() {
  static nvtxDomainHandle_t handle = nvtxDomainCreateA("sluice");
  return handle;
}

}  // namespace

ProfilerRange::ProfilerRange(const std::string& name) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain(), &attributes);
}
ProfilerRange::~ProfilerRange() { nvtxDomainRangePop(domain()); }

#else

ProfilerRange::ProfilerRange(const std::string&) {}
ProfilerRange::~ProfilerRange() = default;

#endif

}  // namespace sluice
