# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sluice authors
"""The reads of a BLOW5 file as other programs' libraries write them: POD5 by pod5, BLOW5 with ex-zd by pyslow5.

    signal_writers.py vbz|plain|ex-zd-none|ex-zd-zlib|ex-zd-zstd FROM.blow5 TO
"""
import datetime
import sys
import uuid

import numpy
import pyslow5


def write_pod5(reader, path, compression):
    import pod5

    attributes = reader.get_all_headers()
    epoch = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)

    def run_info(read):
        levels = int(read["digitisation"])
        return pod5.RunInfo(
            acquisition_id=attributes.get("run_id") or "run", acquisition_start_time=epoch, adc_max=levels // 2 - 1, adc_min=-(levels // 2),
            context_tags={"experiment_type": attributes.get("experiment_type") or ""}, experiment_name="", flow_cell_id="", flow_cell_product_code="",
            protocol_name="", protocol_run_id="", protocol_start_time=epoch, sample_id="", sample_rate=int(read["sampling_rate"]),
            sequencing_kit=attributes.get("sequencing_kit") or "", sequencer_position="", sequencer_position_type="", software="", system_name="",
            system_type="", tracking_id={})

    run = None
    with pod5.Writer(path, software_name="sluice's tests", signal_compression_type=compression) as writer:
        for number, read in enumerate(reader.seq_reads()):
            run = run or run_info(read)
            writer.add_read(pod5.Read(
                read_id=uuid.UUID(read["read_id"]), pore=pod5.Pore(1, 1, "not_set"),
                calibration=pod5.Calibration(read["offset"], read["range"] / read["digitisation"]), read_number=number, start_sample=0,
                median_before=0.0, end_reason=pod5.EndReason(pod5.EndReasonEnum.UNKNOWN, False), run_info=run,
                signal=read["signal"].astype(numpy.int16)))


def write_ex_zd(reader, path, records):
    writer = pyslow5.Open(path, "w", rec_press=records, sig_press="ex-zd")
    attributes = reader.get_all_headers()
    header = {name: attributes.get(name) or "." for name in writer.get_empty_header()}
    if writer.write_header(header) != 0:
        sys.exit("pyslow5 can't write the header")
    for read in reader.seq_reads():
        record, _ = writer.get_empty_record(aux=True)
        record.update({name: value for name, value in read.items() if name in record})
        record["signal"] = read["signal"].astype(numpy.int16)
        if writer.write_record(record) != 0:
            sys.exit("pyslow5 can't write a record")
    writer.close()


def main():
    form, source, target = sys.argv[1:]
    reader = pyslow5.Open(source, "r")
    if form.startswith("ex-zd-"):
        write_ex_zd(reader, target, form[len("ex-zd-"):])
    else:
        import pod5

        write_pod5(reader, target, pod5.SignalType.VbzSignal if form == "vbz" else pod5.SignalType.UncompressedSignal)


main()
