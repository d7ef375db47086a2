# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""A flow cell in virtual time: enrichment, time saved, and how many channels one machine serves."""

from dtwax import prefixes, published
from framework import plot
from framework.experiment import stamp
from framework.places import write_truth

TITLE = "DTWax: a flow cell, enrichment and channels"


def run(e):
    target = prefixes.inputs(e)[0]
    crowd = e.pick(5, 10, 20)
    share = e.pick((40, 8000), (300, 8000), (1000, 8000))

    def make(folder):
        genome, labels = folder + "/genome.fa", folder + "/labels.tsv"
        with open(genome, "w", encoding="utf-8") as out:
            for path, title in ((target, "target"), (e.reference("crowd", crowd * 48502, seed=66, gc_content=0.41, cpg_ratio=0.25), "other")):
                with open(path, encoding="utf-8") as lines:
                    out.writelines(">%s\n" % title if line.startswith(">") else line for line in lines)
        e.sluice_quietly("simulate", genome, "--reads", share[0], "--mean-length", share[1], "--seed", 67, "--output-prefix", folder + "/reads")
        write_truth(e, folder + "/reads.bam", folder + "/truth.tsv")
        with open(folder + "/truth.tsv", encoding="utf-8") as lines, open(labels, "w", encoding="utf-8") as out:
            out.writelines(line.split("\t")[0] + "\n" for line in lines if line.split("\t")[1] == "target")

    folder = e.made("flow-cell-" + stamp(target), make)
    labels = folder + "/labels.tsv"
    with open(labels, encoding="utf-8") as lines:
        targets = {line.strip() for line in lines}
    channels, seconds = e.pick(32, 64, 512), e.pick(300, 900, 3600)
    deciding = channels - channels // 2  # control channels are played, but nothing is decided of them
    e.data("%d simulated R9.4.1 reads of 8 kb again and again, %d of them of a target that is one of %d parts of the genome; %d channels for %d s in virtual time, half of them as control."
           % (share[0], len(targets), crowd + 1, channels, seconds))
    table = e.table("run", "enrichment", "of the model", "target bases over the control's", "recall", "others accepted", "wall s", "CPU s", "channels that a processor serves", "that this machine serves")
    bars = []
    for device, reason in e.devices():
        if reason:
            e.skipped(table, "sluice, %s" % device, reason)
            continue
        output = e.path(device + ".tsv")
        run = e.sluice("read_until", "--signal", folder + "/reads.blow5", "--target", target, "--speed", 0, "--channels", channels, "--play-again", "--labels", labels, "--duration", seconds,
                       "--control-channels", "1-%d" % (channels // 2), "--output", output, device=device)
        count = lambda name: float(run.counter("cells", name))
        # As many channels eject as don't.
        control = run.counter("cells", "control: target_bases")
        gain = count("enrich: target_bases") / control if control else 0.0
        ends = {}
        with open(output, encoding="utf-8") as lines:
            names = next(lines).rstrip("\n").split("\t")
            for line in lines:
                cells = dict(zip(names, line.rstrip("\n").split("\t")))
                if cells.get("condition", "") != "control":
                    ends.setdefault(cells["read_id"], set()).add(cells["action"])
        ejected = {read for read, actions in ends.items() if "unblock" in actions}
        recall = 1 - len(ejected & targets) / max(len(targets & ends.keys()), 1)
        kept = len(ends.keys() - targets - ejected) / max(len(ends.keys() - targets), 1)
        own, model = count("enrich: enrichment"), count("enrich: model_enrichment")
        table.row("sluice, %s" % device, own, model, gain, "%.3f" % recall, "%.3f" % kept, run.wall, run.cpu, deciding * seconds / run.cpu, deciding * seconds / run.wall)
        bars.append(("sluice, %s" % device, deciding * seconds / run.wall))
        if device == "cpu":
            e.check(gain > 1.15 and recall > 0.95, "targets are enriched, and fewer than 1 of 20 is ejected")
            e.check(model > 0 and abs(own / model - 1) < 0.1, "the enrichment is the model's, within a tenth")
        else:
            e.same(e.path("cpu.tsv"), output, "decisions of %s are those of cpu" % device)
    e.note("Enrichment: target bases over those expected of the same flow cell if every strand were sequenced, by what the run saw; the model computes it from the reads' lengths and the decisions. The control "
           "channels are as many as those that eject; few targets come by in them, so that their ratio is by chance, too. Channels served are those that decide, without the control's.")
    e.picture(plot.bars("Channels in real time", "channel seconds per second of the whole process", bars))
    published.flow_cell(e)
    e.compare("DTWax's 1.92 is of its own mixture and thresholds; time saved depends on the share of the target and on read lengths, so only the model's agreement can be held beside ours.")
