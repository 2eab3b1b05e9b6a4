# Tables, figures, page, MLflow: what a reader sees.


rule tables:
    input:
        run_files(["per_query.csv", "trials.csv"]),
        expand(f"{STUDY}/data/{{dataset}}/{{name}}", dataset=DATASETS, name=["card.json", "folds.json", "parts"]),
    output:
        metrics=f"{STUDY}/tables/metrics.csv",
        summary=f"{STUDY}/tables/summary.csv",
        per_query=f"{STUDY}/tables/per_query.csv",
        trials=f"{STUDY}/tables/trials.csv",
        comparisons=f"{STUDY}/tables/comparisons.csv",
        published=f"{STUDY}/tables/published.csv",
        queries=f"{STUDY}/tables/queries.csv",
        ties=f"{STUDY}/tables/ties.csv",
    log:
        f"{STUDY}/logs/tables.log",
    benchmark:
        f"{STUDY}/benchmarks/tables.tsv"
    params:
        datasets=DATASETS,
        methods=list(METHODS),
        folds=FOLDS,
        seed=config["seed"],
        evaluation=config["evaluation"],
        code=code_hash("letorlab.report.tables", resources=["published.csv"]),
    script:
        "../scripts/tables.py"


rule figures:
    input:
        summary=rules.tables.output.summary,
        published=rules.tables.output.published,
        paths=path_files(),
    output:
        directory(f"{STUDY}/figures"),
    log:
        f"{STUDY}/logs/figures.log",
    benchmark:
        f"{STUDY}/benchmarks/figures.tsv"
    params:
        methods=config["methods"],
        code=code_hash("letorlab.report.figures"),
    script:
        "../scripts/figures.py"


rule baselines:
    input:
        metrics=rules.tables.output.metrics,
        published=rules.tables.output.published,
    output:
        f"{STUDY}/report/baselines.md",
    log:
        f"{STUDY}/logs/baselines.log",
    benchmark:
        f"{STUDY}/benchmarks/baselines.tsv"
    params:
        methods=config["methods"],
        code=code_hash("letorlab.report.baselines"),
    script:
        "../scripts/baselines.py"


rule page:
    input:
        tables=list(rules.tables.output),
        figures=rules.figures.output,
        fits=run_files(["fit.json"]),
        cards=expand(f"{STUDY}/data/{{dataset}}/card.json", dataset=DATASETS),
        derived=expand(f"{STUDY}/data/{{dataset}}/derived", dataset=DATASETS),
    output:
        f"{STUDY}/report/index.html",
    log:
        f"{STUDY}/logs/page.log",
    benchmark:
        f"{STUDY}/benchmarks/page.tsv"
    params:
        skipped=SKIPPED,
        absent=ABSENT,
        code=code_hash("letorlab.report.page", resources=PAGE_RESOURCES),
    script:
        "../scripts/page.py"


rule mlflow:
    input:
        tables=list(rules.tables.output),
        figures=rules.figures.output,
        page=rules.page.output,
        runs=run_files(RUN_FILES),
        cards=expand(f"{STUDY}/data/{{dataset}}/card.json", dataset=DATASETS),
    output:
        f"{STUDY}/mlflow.synced.json",
    log:
        f"{STUDY}/logs/mlflow.log",
    benchmark:
        f"{STUDY}/benchmarks/mlflow.tsv"
    params:
        code=code_hash("letorlab.tracking"),
    script:
        "../scripts/track.py"
