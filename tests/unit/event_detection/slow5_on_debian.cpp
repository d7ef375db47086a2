// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Debian 12 links slow5lib 0.7 to the system's streamvbyte, whose zigzag_delta_decode writes 32-bit samples, while slow5lib
// allocates 16-bit ones: reading any BLOW5 file with svb-zd compression overruns the heap. A definition in the
// executable takes precedence over the library's.
#include <cstddef>
#include <cstdint>

extern "C" void zigzag_delta_decode(const std::uint32_t* encoded, std::int16_t* samples, std::size_t count,
                                    std::int16_t previous);

extern "C" void zigzag_delta_decode(const std::uint32_t* encoded, std::int16_t* samples, std::size_t count,
                                    std::int16_t previous) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t difference = (encoded[i] >> 1U) ^ (0U - (encoded[i] & 1U));
    previous = static_cast<std::int16_t>(static_cast<std::uint16_t>(previous) + difference);
    samples[i] = previous;
  }
}
