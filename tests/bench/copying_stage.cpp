// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What python_streams.py compares stages in Python with: the same in C++.
#include <cstring>
#include <sluice/stage.hpp>

namespace {

class CopiedBases {
 public:
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<CopiedBases>& d) {
    d.id("copied_bases").summary("copies the bases").map("*").needs("bases", "utf8", "").gives("copy", "utf8", "the bases again");
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const sluice::TextView bases = in.text("bases");
    const sluice::Buffer offsets = out.offsets([&](std::int64_t row) { return bases[row].size(); });
    const std::span<char> copy = out.text("copy", offsets);
    if (!copy.empty()) std::memcpy(copy.data(), bases[0].data(), copy.size());
  }
};

}  // namespace

SLUICE_PLUGIN("copying_stage", "0.1.0", "MIT", CopiedBases);
