# The papers' own simulations: `snakemake simulate_svmcompare`. They need no data.
COMPARE = f"{SIMULATE}/svmcompare"
COMPARE_SETTINGS = config["simulate"]["svmcompare"]
COMPARE_FIT = {
    "grid": COMPARE_SETTINGS["grid"],
    "code": code_hash("letorlab.simulate.svmcompare", "letorlab.simulate.svmcompare_tables"),
}


rule simulate_svmcompare_cell:
    output:
        f"{COMPARE}/cells/{{norm}}.{{n}}.{{seed}}.csv",
    log:
        f"{COMPARE}/logs/cells/{{norm}}.{{n}}.{{seed}}.log",
    benchmark:
        f"{COMPARE}/benchmarks/cells/{{norm}}.{{n}}.{{seed}}.tsv"
    params:
        fit=COMPARE_FIT,
        ties=50,
        n=lambda wildcards: int(wildcards.n),
        select_on="error",
    script:
        "../scripts/svmcompare_cell.py"


use rule simulate_svmcompare_cell as simulate_svmcompare_ties with:
    output:
        f"{COMPARE}/ties/{{norm}}.{{ties}}.{{seed}}.csv",
    log:
        f"{COMPARE}/logs/ties/{{norm}}.{{ties}}.{{seed}}.log",
    benchmark:
        f"{COMPARE}/benchmarks/ties/{{norm}}.{{ties}}.{{seed}}.tsv"
    params:
        fit=COMPARE_FIT,
        ties=lambda wildcards: int(wildcards.ties),
        n=COMPARE_SETTINGS["ties_n"],
        select_on="auc",


rule simulate_svmcompare_tables:
    input:
        cells=expand(
            f"{COMPARE}/cells/{{norm}}.{{n}}.{{seed}}.csv",
            norm=COMPARE_SETTINGS["norms"],
            n=COMPARE_SETTINGS["n"],
            seed=range(1, COMPARE_SETTINGS["seeds"] + 1),
        ),
        ties=expand(
            f"{COMPARE}/ties/{{norm}}.{{ties}}.{{seed}}.csv",
            norm=COMPARE_SETTINGS["norms"],
            ties=COMPARE_SETTINGS["ties"],
            seed=range(1, COMPARE_SETTINGS["ties_seeds"] + 1),
        ),
    output:
        expand(
            f"{COMPARE}/{{name}}.csv",
            name=["fig4", "fig4_summary", "fig5", "fig5_summary", "fig3", "fig3_pairs", "hard", "hard_pairs"],
        ),
    log:
        f"{COMPARE}/logs/tables.log",
    benchmark:
        f"{COMPARE}/benchmarks/tables.tsv"
    params:
        grid=COMPARE_SETTINGS["grid"],
        seed=config["seed"],
        code=code_hash(
            "letorlab.simulate.svmcompare_tables",
            "letorlab.simulate.levels",
            "letorlab.simulate.separable",
            resources=["simulate/published_fig4.csv", "simulate/published_fig5.csv"],
        ),
    script:
        "../scripts/svmcompare_tables.py"


rule simulate_svmcompare_figures:
    input:
        rules.simulate_svmcompare_tables.output,
    output:
        expand(f"{COMPARE}/{{name}}.svg", name=["fig3", "fig4", "fig5", "hard"]),
    log:
        f"{COMPARE}/logs/figures.log",
    benchmark:
        f"{COMPARE}/benchmarks/figures.tsv"
    params:
        code=code_hash("letorlab.simulate.svmcompare_figures"),
    script:
        "../scripts/svmcompare_figures.py"


rule simulate_svmcompare_mlflow:
    input:
        rules.simulate_svmcompare_tables.output,
        rules.simulate_svmcompare_figures.output,
    output:
        f"{COMPARE}/mlflow.synced.json",
    log:
        f"{COMPARE}/logs/mlflow.log",
    benchmark:
        f"{COMPARE}/benchmarks/mlflow.tsv"
    params:
        settings=COMPARE_SETTINGS,
        code=code_hash("letorlab.tracking", "letorlab.simulate.records", "letorlab.simulate.svmcompare_curves"),
    script:
        "../scripts/svmcompare_track.py"


rule simulate_svmcompare:
    input:
        f"{COMPARE}/mlflow.synced.json",
        # Asked for by name, so that a deleted cell is made again.
        rules.simulate_svmcompare_tables.input,
