// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A BGZF file as the output of a sink: what its commit() adds is compressed on the run's threads.

#include <cstddef>
#include <sluice/call.hpp>
#include <sluice/hts/bgzf_writer.hpp>
#include <string>

namespace sluice::hts {

class BgzfOutput {
 public:
  explicit BgzfOutput(OutputFile file, int level = -1) : file_(std::move(file)), blocks_(level) {}

  BgzfWriter& blocks() { return blocks_; }
  const BgzfWriter& blocks() const { return blocks_; }
  // Writes the finished blocks, when there are enough of them for all threads. True: it did.
  bool write(const Call& call) {
    if (blocks_.waiting() < BgzfWriter::worth_compressing) return false;
    bytes_.clear();
    blocks_.compress(bytes_, run_on(call));
    file_.write(bytes_);
    return true;
  }
  // Writes the rest and closes the file.
  void finish(const Call& call) {
    bytes_.clear();
    blocks_.finish(bytes_, run_on(call));
    file_.write(bytes_);
    file_.close();
  }

 private:
  static BgzfWriter::Run run_on(const Call& call) {
    return [&call](std::size_t count, const auto& body) { call.parallel_for(count, 1, body); };
  }
  OutputFile file_;
  BgzfWriter blocks_;
  std::string bytes_;
};

}  // namespace sluice::hts
