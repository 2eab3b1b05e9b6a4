# The learning-rate laboratory: `snakemake simulate_rates`. It needs no data.
from letorlab.simulate.rate_settings import cells_of

RATES = f"{SIMULATE}/rates"
RATES_SETTINGS = config["simulate"]["rates"]


rule simulate_rates_cell:
    output:
        f"{RATES}/cells/{{setting}}.{{n}}.csv",
    log:
        f"{RATES}/logs/cells/{{setting}}.{{n}}.log",
    benchmark:
        f"{RATES}/benchmarks/cells/{{setting}}.{{n}}.tsv"
    params:
        seeds=RATES_SETTINGS["seeds"],
        n_test=RATES_SETTINGS["n_test"],
        code=code_hash("letorlab.simulate.rates"),
    script:
        "../scripts/rates_cell.py"


rule simulate_rates_tables:
    input:
        [f"{RATES}/cells/{setting}.{n}.csv" for setting, n in cells_of(RATES_SETTINGS)],
    output:
        expand(f"{RATES}/{{name}}.csv", name=["risks", "means", "slopes"]),
    log:
        f"{RATES}/logs/tables.log",
    benchmark:
        f"{RATES}/benchmarks/tables.tsv"
    params:
        code=code_hash("letorlab.simulate.rate_tables"),
    script:
        "../scripts/rates_tables.py"


rule simulate_rates_figures:
    input:
        rules.simulate_rates_tables.output,
    output:
        expand(f"{RATES}/{{name}}.svg", name=["risks", "slopes"]),
    log:
        f"{RATES}/logs/figures.log",
    benchmark:
        f"{RATES}/benchmarks/figures.tsv"
    params:
        code=code_hash("letorlab.simulate.rate_figures"),
    script:
        "../scripts/rates_figures.py"


rule simulate_rates_mlflow:
    input:
        rules.simulate_rates_tables.output,
        rules.simulate_rates_figures.output,
    output:
        f"{RATES}/mlflow.synced.json",
    log:
        f"{RATES}/logs/mlflow.log",
    benchmark:
        f"{RATES}/benchmarks/mlflow.tsv"
    params:
        settings=RATES_SETTINGS,
        code=code_hash("letorlab.tracking", "letorlab.simulate.records", "letorlab.simulate.rate_curves"),
    script:
        "../scripts/rates_track.py"


rule simulate_rates:
    input:
        f"{RATES}/mlflow.synced.json",
        # Asked for by name, so that a deleted cell is made again.
        rules.simulate_rates_tables.input,
