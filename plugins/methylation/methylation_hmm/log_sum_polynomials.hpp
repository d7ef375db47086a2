// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The log-sum table as 31 polynomials in single precision, one for 512 entries each, and one that is 0.
//
// Entry i is that of segment (i + kFirstSegmentEntry) >> kSegmentBits, at x = its place in the segment - kSegmentCentre, by Horner's rule with fused
// multiply-adds. The segments begin where they do so that the last entry, 0, has a segment of its own.
// What comes out is the table's entry or its lower neighbour among the floats (7,729 of the 15,701 are the entry itself): a test in
// tests/unit/methylation/methylation_hmm compares them all.
//
// How the coefficients were found: Remez exchange on the relative error gives ln(1 + exp(-x)) to 0.2 units in the last place. They were rounded to
// single precision, scaled by 1 - s for the s within 2.4e-7 that leaves the fewest other values (0 to 49 of 512), and the first four then moved by a
// few last places, at random, as long as that did not add any. With most centres a few remain; 249 is the nearest to the middle with none.

#include "methylation_hmm/profile_hmm.hpp"

namespace sluice::methylation_hmm {

inline constexpr int kSegmentBits = 9;
inline constexpr int kSegmentCentre = 249;
inline constexpr int kPolynomialDegree = 5;
inline constexpr std::int32_t kFirstSegmentEntry = (31 << kSegmentBits) - kLogSumLast;

// By power, then by segment.
alignas(64) inline constexpr float kLogSumPolynomials[kPolynomialDegree + 1][32] = {
    {0x1.4f8f08p-1F,  0x1.c3fe4p-2F,   0x1.25f9c8p-2F,  0x1.742e34p-3F,  0x1.ce1ebap-4F,  0x1.1b2838p-4F,  0x1.58116ep-5F,  0x1.9fdb86p-6F,
     0x1.f4f946p-7F,  0x1.2d267p-7F,   0x1.699ec8p-8F,  0x1.b1e9fcp-9F,  0x1.04371cp-9F,  0x1.38041p-10F,  0x1.76119ap-11F, 0x1.c06b76p-12F,
     0x1.0cc254p-12F, 0x1.42262p-13F,  0x1.82230ap-14F, 0x1.ced436p-15F, 0x1.155fep-15F,  0x1.4c76p-16F,   0x1.8e7c8ap-17F, 0x1.dd9fa8p-18F,
     0x1.1e3cfep-18F, 0x1.571544p-19F, 0x1.9b3778p-20F, 0x1.ece188p-21F, 0x1.2761aep-21F, 0x1.620ab8p-22F, 0x1.a85a06p-23F, 0.0F},
    {-0x1.f81ce6p-12F, -0x1.76330ap-12F, -0x1.05accp-12F,  -0x1.5c7d32p-13F, -0x1.bf7e28p-14F, -0x1.18285ap-14F, -0x1.59078p-15F,  -0x1.a47aaep-16F,
     -0x1.fd187p-17F,  -0x1.32f70ap-17F, -0x1.714786p-18F, -0x1.bb97dep-19F, -0x1.0a3234p-19F, -0x1.3f506cp-20F, -0x1.7ee8e8p-21F, -0x1.cb1568p-22F,
     -0x1.132c8cp-22F, -0x1.49dae8p-23F, -0x1.8b62cep-24F, -0x1.d9ec7ap-25F, -0x1.1c06ep-25F,  -0x1.546fc6p-26F, -0x1.980c36p-27F, -0x1.e915b8p-28F,
     -0x1.251b76p-28F, -0x1.5f510ap-29F, -0x1.a515e4p-30F, -0x1.f8b5b8p-31F, -0x1.2e787ap-31F, -0x1.6a89fp-32F,  -0x1.b28938p-33F, 0.0F},
    {0x1.0c09d6p-23F, 0x1.ecdf4ep-24F, 0x1.922cap-24F,  0x1.298e26p-24F, 0x1.995872p-25F, 0x1.0bb872p-25F, 0x1.52c734p-26F, 0x1.a3c756p-27F,
     0x1.00b384p-27F, 0x1.377484p-28F, 0x1.780f76p-29F, 0x1.c4bc4ep-30F, 0x1.100ad8p-30F, 0x1.469636p-31F, 0x1.87d14cp-32F, 0x1.d5e5cp-33F,
     0x1.19b448p-33F, 0x1.51b7b8p-34F, 0x1.94d5dcp-35F, 0x1.e544a2p-36F, 0x1.22d4ecp-36F, 0x1.5c9916p-37F, 0x1.a1d524p-38F, 0x1.f4d0fp-39F,
     0x1.2c2386p-39F, 0x1.67be9p-40F,  0x1.af302ep-41F, 0x1.0268dap-41F, 0x1.35ba5p-42F,  0x1.733cdep-43F, 0x1.bcf646p-44F, 0.0F},
    {-0x1.c29d36p-40F, -0x1.814b0ap-37F, -0x1.13072ep-36F, -0x1.0f3a5ap-36F, -0x1.b79e9cp-37F, -0x1.3cb20ap-37F, -0x1.a87f4cp-38F, -0x1.1035b2p-38F,
     -0x1.53db6ap-39F, -0x1.a1794ep-40F, -0x1.fbd026p-41F, -0x1.33096ep-41F, -0x1.71f882p-42F, -0x1.bcdb92p-43F, -0x1.0b1c5p-43F,  -0x1.4085ep-44F,
     -0x1.80708ap-45F, -0x1.ccf9b4p-46F, -0x1.145424p-46F, -0x1.4b410ep-47F, -0x1.8d0f4cp-48F, -0x1.dbf446p-49F, -0x1.1d3f14p-49F, -0x1.55e684p-50F,
     -0x1.99cefcp-51F, -0x1.eb30ccp-52F, -0x1.265ea2p-52F, -0x1.60d472p-53F, -0x1.a6e648p-54F, -0x1.fae25ep-55F, -0x1.2fc616p-55F, 0.0F},
    {-0x1.7732c6p-48F, -0x1.02dfe2p-48F, -0x1.190702p-50F, 0x1.141c98p-50F, 0x1.e740cep-50F, 0x1.d3a6aap-50F, 0x1.699108p-50F, 0x1.f57b98p-51F,
     0x1.4761bp-51F,   0x1.9cca5ap-52F,  0x1.fdeaf2p-53F,  0x1.3724e8p-53F, 0x1.78f8d2p-54F, 0x1.c6c1acp-55F, 0x1.11966p-55F,  0x1.48adaep-56F,
     0x1.8a7f46p-57F,  0x1.d93bc6p-58F,  0x1.1bbf78p-58F,  0x1.543302p-59F, 0x1.97d53p-60F,  0x1.e8e092p-61F, 0x1.250038p-61F, 0x1.5f33aep-62F,
     0x1.a4f51p-63F,   0x1.f89016p-64F,  0x1.2e6288p-64F,  0x1.6a701p-65F,  0x1.b26a88p-66F, 0x1.04581ep-66F, 0x1.380bf6p-67F, 0.0F},
    {0x1.9a497p-62F,   0x1.1b003ep-60F,  0x1.1bf75ep-60F,  0x1.27865cp-61F,  0x1.93d5aep-64F,  -0x1.0d265ap-63F, -0x1.7570b8p-63F, -0x1.407f18p-63F,
     -0x1.d03ac2p-64F, -0x1.3580bep-64F, -0x1.8a9af8p-65F, -0x1.ea781p-66F,  -0x1.2c55bep-66F, -0x1.6ca00ep-67F, -0x1.b86558p-68F, -0x1.092376p-68F,
     -0x1.3eaa3p-69F,  -0x1.7e938p-70F,  -0x1.cb00e8p-71F, -0x1.133dacp-71F, -0x1.4a0494p-72F, -0x1.8ba3eap-73F, -0x1.da456ep-74F, -0x1.1c4014p-74F,
     -0x1.54b72cp-75F, -0x1.9863d2p-76F, -0x1.e9802ep-77F, -0x1.255bccp-77F, -0x1.5f9e84p-78F, -0x1.a57304p-79F, -0x1.f9258ap-80F, 0.0F},
};

}  // namespace sluice::methylation_hmm
