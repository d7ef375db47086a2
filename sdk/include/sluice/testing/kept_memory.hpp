// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// kept_memory_problems: what a huge row leaves behind for the rows after it.

#include <sluice/testing/contract.hpp>
#include <string>
#include <vector>

namespace sluice::testing {

// One instance sees `huge`, the rows of the sample, `huge` again, the rows in another order, and so on, one row a batch. Every row has to come out as
// from an instance of its own, whatever memory is kept or was given back in between. `huge` is to need more than the stage keeps. For maps and sinks
// whose rows stand for themselves; of a sink it compares the columns that it makes before it writes. Where rows have to be sorted, they come in their
// order, each twice, and `huge` is one of them. One line for each row that comes out otherwise.
std::vector<std::string> kept_memory_problems(const StageUnderTest& stage, const ContractSample& sample, const TestBatch& huge);

}  // namespace sluice::testing
