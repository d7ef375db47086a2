// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// A pipeline of sluice in shards, merged to the bytes of one run. Written, not run by us: Nextflow could not be had where this was made.
//   nextflow run main.nf --pipeline map --shards 6 --arguments '--reference ref.fa --reads reads.fastq.gz' \
//     --inputs 'ref.fa,reads.fastq.gz' --option --output --name hits.paf --folder results
nextflow.enable.dsl = 2

params.pipeline = 'map'
params.shards = 6
params.arguments = ''
params.inputs = ''
params.option = '--output'
params.name = 'hits.paf'
params.folder = 'results'

process SHARD {
    cpus 4
    memory { 8.GB * task.attempt }
    errorStrategy 'retry'
    maxRetries 2

    input:
    tuple val(shard), path(inputs)

    output:
    path "${shard}", emit: shard

    script:
    """
    mkdir ${shard}
    sluice run ${params.pipeline} ${params.arguments} ${params.option} ${shard}/${params.name} --shard ${shard}/${params.shards} \
        --threads ${task.cpus} --memory ${(task.memory.toMega() * 4).intdiv(5)}MiB --quiet
    """
}

process MERGE {
    cpus 2
    memory 4.GB
    publishDir params.folder, mode: 'copy'

    input:
    path shards

    output:
    path params.name

    script:
    """
    sluice merge --output ${params.name} */${params.name}
    """
}

workflow {
    inputs = Channel.fromPath(params.inputs.tokenize(',')).collect()
    SHARD(Channel.of(1..params.shards).combine(inputs.map { [it] }))
    MERGE(SHARD.out.shard.collect())
}
