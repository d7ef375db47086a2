/* SPDX-License-Identifier: MIT
 * SPDX-FileCopyrightText: The sluice authors */
#include <sluice/abi.h>

extern const size_t sluice_abi_descriptor_bytes;
const size_t sluice_abi_descriptor_bytes = sizeof(sluice_stage_descriptor);
