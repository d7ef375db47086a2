// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Runs stages in a test without the sluice program: a host in a few hundred lines that checks what a stage does with it.
//
//   auto reads = sluice::testing::BatchBuilder("read", 2).text("read_id", {"a", "b"}).list<float>("event_mean", {{1, 2}, {3}}).failed(1).build();
//   auto result = sluice::testing::run_stage<Smooth>(reads).with({{"window", 3}}).resource("model", model).run();
//   CHECK(result.ok());
//   CHECK(result.batch().view().list<float>("smoothed")[0].size() == 2);
//
//   CHECK(sluice::testing::contract_problems<Smooth>({.batches = {reads}}) == std::vector<std::string>{});
//
// A stage whose class is inside a plugin is found with stage_of(*load_plugin(path), "id"). Nothing here depends on a test framework.

#include <sluice/testing/contract.hpp>    // contract_problems
#include <sluice/testing/restarts.hpp>    // resume_problems
#include <sluice/testing/sources.hpp>     // in_part, beginning_at
#include <sluice/testing/stage_run.hpp>   // run_stage, load_plugin
#include <sluice/testing/test_batch.hpp>  // BatchBuilder
