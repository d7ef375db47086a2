// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What streams keep on a CUDA device: for each channel the last row, twice, because the next one is written while it is read, and the query.

#include <cstdint>
#include <sluice/cuda.hpp>
#include <vector>

#include "sdtw/cuda.hpp"

namespace sluice::sdtw::cuda {

class DeviceStates {
 public:
  struct State {
    std::uint32_t* rows[2] = {nullptr, nullptr};
    std::int16_t* query = nullptr;  // room for most_rows levels
  };

  explicit DeviceStates(const PackedReference& reference) : words_(static_cast<std::size_t>(state_words(reference))) {}

  // Room for one more channel. False: the device has none.
  bool take(const sluice::cuda::DeviceCall& device, State& state);
  // Forgets all states, also those that have been taken.
  void clear();

 private:
  bool grow(const sluice::cuda::DeviceCall& device);
  std::size_t words_;
  std::size_t states_ = 0;
  bool is_full_ = false;
  std::vector<sluice::cuda::Memory> memory_;
  std::vector<State> free_;
};

}  // namespace sluice::sdtw::cuda
