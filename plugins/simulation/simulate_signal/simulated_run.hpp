// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The run that simulated reads are of: what headers say of it.

#include <optional>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

namespace sluice::simulate_signal {

class SimulatedRun {
 public:
  struct Parameters {
    std::string pore = "r9";
    double sampling_rate = 0;
    std::string run_id = "sluice";
    std::optional<std::string> sequencing_kit, flow_cell, basecall_model;
    std::string basecaller_version = "2.1.0";
  };
  static void describe(Describe<SimulatedRun>& d) {
    d.id("simulated_run").summary("the run that simulated reads are of: kit, flow cell, basecaller's model").resource("sequencing_run");
    d.doc("What is not given is that of the pore and the sampling rate. The run began on 1 January 2026 at 00:00 UTC.");
    d.option("pore", &Parameters::pore, "what was sequenced").choices({"r9", "r10", "rna_r9", "rna004"});
    d.option("sampling_rate", &Parameters::sampling_rate, "samples per second; 0: 3,012 for rna_r9, else 4,000").range(0, 1e6).unit("Hz");
    d.option("run_id", &Parameters::run_id, "name of the run");
    d.option("sequencing_kit", &Parameters::sequencing_kit, "kit; without it, that of the pore");
    d.option("flow_cell", &Parameters::flow_cell, "product code of the flow cell; without it, that of the pore");
    d.option("basecall_model", &Parameters::basecall_model, "model of the basecaller; without it, dorado's for pore and rate");
    d.option("basecaller_version", &Parameters::basecaller_version, "version of dorado whose tags are written");
    d.gives("run_id", "utf8", "name of the run")
        .gives("experiment_type", "utf8", "genomic_dna or rna")
        .gives("sequencing_kit", "utf8", "as MinKNOW's files have it")
        .gives("flow_cell_product", "utf8", "product code of the flow cell")
        .gives("flow_cell_id", "utf8", "number of the flow cell")
        .gives("basecall_model", "utf8", "model of the basecaller")
        .gives("basecaller_version", "utf8", "version of dorado")
        .gives("sampling_rate", "f64", "Hz")
        .gives("acquisition_start", "i64", "when the run began, ms since 1970, UTC");
    d.work_unit("row");
  }
  static void check_parameters(const Parameters& p) {
    if (p.sampling_rate != 0 && p.sampling_rate < 1)
      throw Failure::usage("sampling_rate lies below 1 Hz", "give 1 or more, or 0 for that of the pore");
    for (const std::string& value :
         {p.run_id, p.sequencing_kit.value_or("kit"), p.flow_cell.value_or("cell"), p.basecall_model.value_or("model"), p.basecaller_version})
      if (value.empty() || value.find_first_of("\t\n ") != std::string::npos)
        throw Failure::usage("'" + value + "' of the sequencing run is empty, or holds a blank, a tab or a line break", "write it without");
  }
  SimulatedRun(const Setup&, const Parameters& p) : p_(p) {
    if (p_.sampling_rate == 0) p_.sampling_rate = p.pore == "rna_r9" ? 3012 : 4000;
  }

  void process(const Call&, Output& out) const {
    constexpr std::int64_t start_of_2026 = 1'767'225'600'000;
    const Defaults usual = defaults();
    out.set_rows(1);
    text(out, "run_id", p_.run_id);
    text(out, "experiment_type", p_.pore.starts_with("rna") ? "rna" : "genomic_dna");
    text(out, "sequencing_kit", p_.sequencing_kit.value_or(usual.kit));
    text(out, "flow_cell_product", p_.flow_cell.value_or(usual.flow_cell));
    text(out, "flow_cell_id", "FAS00001");
    text(out, "basecall_model", p_.basecall_model.value_or(usual.model));
    text(out, "basecaller_version", p_.basecaller_version);
    out.column<double>("sampling_rate")[0] = p_.sampling_rate;
    out.column<std::int64_t>("acquisition_start")[0] = start_of_2026;
  }

 private:
  struct Defaults {
    const char *kit, *flow_cell, *model;
  };
  Defaults defaults() const {
    if (p_.pore == "r9") return {"sqk-lsk109", "FLO-MIN106", "dna_r9.4.1_e8_sup@v3.3"};
    if (p_.pore == "rna_r9") return {"sqk-rna002", "FLO-MIN106", "rna002_70bps_hac@v3"};
    if (p_.pore == "rna004") return {"sqk-rna004", "FLO-MIN004RA", "rna004_130bps_sup@v5.2.0"};
    return {"sqk-lsk114", "FLO-MIN114", p_.sampling_rate < 4500 ? "dna_r10.4.1_e8.2_400bps_sup@v4.1.0" : "dna_r10.4.1_e8.2_400bps_sup@v5.2.0"};
  }
  static void text(Output& out, const char* name, const std::string& value) { out.text_rows(name, std::vector<std::string>{value}); }

  Parameters p_;
};

}  // namespace sluice::simulate_signal
