from letorlab.jobs import job
from letorlab.simulate.svmcompare import Grid, simulate_cell
from letorlab.simulate.svmcompare_tables import write_cell

with job(snakemake.log[0]):
    params, cell = snakemake.params, snakemake.wildcards
    rows = simulate_cell(
        cell.norm,
        params.n,
        int(cell.seed),
        grid=Grid.of_paper(params.fit["grid"]),
        ties=params.ties / 100,
        select_on=params.select_on,
    )
    write_cell(rows, snakemake.output[0])
