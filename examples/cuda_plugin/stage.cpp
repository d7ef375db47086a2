// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shows: a stage with an implementation for CUDA devices, which reads a text column where it lies and leaves its result on the device.
// Run: cmake -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build && sluice inspect gc_count --plugin-dir build
#include <sluice/stage.hpp>

#include "gc_count.hpp"
#ifdef SLUICE_WITH_CUDA
#include <sluice/cuda.hpp>
#endif

class GcCount {
 public:
  struct Parameters {};

  static void describe(sluice::Describe<GcCount>& d) {
    d.id("gc_count").summary("counts the letters of a read that are G or C").map("read").work_unit("base");
    d.doc("Small letters are not counted.");
    d.needs("bases", "utf8", "the read").gives("gc_bases", "i64", "how many letters are G or C");
#ifdef SLUICE_WITH_CUDA
    d.implementation<&GcCount::process_cuda>("cuda", "one warp a read");
#endif
  }

  GcCount(const sluice::Setup&, const Parameters&) {}

  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto bases = in.text("bases");
    const auto counts = out.column<std::int64_t>("gc_bases");
    call.parallel_for(counts.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto row = static_cast<std::int64_t>(i);
        if (in.ok(row)) counts[i] = gc_count::count(bases[row]);
      }
    });
  }

#ifdef SLUICE_WITH_CUDA
  void process_cuda(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const sluice::cuda::DeviceCall device(call);
    const sluice::cuda::Text bases = device.text(in, "bases");
    const sluice::cuda::Memory status = device.row_status(in);
    sluice::cuda::Memory counts = device.allocate_array<std::int64_t>(static_cast<std::size_t>(bases.rows));
    sluice::cuda::check(
        gc_count::cuda::count(bases.bytes, bases.offsets, status.as<std::uint16_t>(), bases.rows, counts.as<std::int64_t>(), device.stream()),
        "gc_count");
    device.add_column<std::int64_t>(out, "gc_bases", std::move(counts));
  }
#endif
};

SLUICE_PLUGIN("gc_count", "1.0.0", "MIT", GcCount);
