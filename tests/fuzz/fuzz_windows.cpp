// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Any bytes as windows for consensus, in every format. Run: build/fuzz/bin/fuzz_windows -max_len=2000 CORPUS tests/fuzz/windows_seeds
#include "fuzzed_file.hpp"
#include "poa_consensus/window_file.hpp"

using namespace fuzzing;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::poa_consensus;
  const FileOf file(text_of(data, size));
  for (const WindowFormat format : {WindowFormat::windows, WindowFormat::sequences, WindowFormat::automatic})
    read_or_refuse([&] {
      WindowFile windows(file.path(), format);
      for (FileWindow window; windows.next(window);) {
        std::size_t letters = 0;
        for (const std::int32_t length : window.lengths) require(length >= 0), letters += static_cast<std::size_t>(length);
        require(letters == window.sequences.size() && (window.qualities.empty() || window.qualities.size() == letters));
      }
    });
  return 0;
}
