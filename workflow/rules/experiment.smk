# Fit every method on groups of folds, then evaluate: the judge is not the player.
# The rules are written out for each data set and group of folds, so that paths do not depend on the grouping.

for dataset in DATASETS:
    for group in fold_groups(config, dataset):
        folds = "-".join(map(str, group))
        run = f"{STUDY}/runs/{dataset}/fold{{fold}}/{{{{method}}}}"

        rule:
            name:
                f"fit_{dataset}_{folds}"
            input:
                training_inputs(dataset),
            output:
                expand(f"{run}/trials.zip", fold=group),
            log:
                f"{STUDY}/logs/fit/{dataset}/{{method}}.{folds}.log",
            benchmark:
                f"{STUDY}/benchmarks/fit/{dataset}/{{method}}.{folds}.tsv"
            threads: 1
            params:
                folds=group,
                fit=fit_params,
            script:
                "../scripts/fit.py"

        rule:
            name:
                f"evaluate_{dataset}_{folds}"
            input:
                trials=expand(f"{run}/trials.zip", fold=group),
                card=f"{STUDY}/data/{dataset}/card.json",
                folds=f"{STUDY}/data/{dataset}/folds.json",
                parts=f"{STUDY}/data/{dataset}/parts",
            output:
                expand(f"{run}/{{file}}", fold=group, file=RUN_FILES),
            log:
                f"{STUDY}/logs/evaluate/{dataset}/{{method}}.{folds}.log",
            benchmark:
                f"{STUDY}/benchmarks/evaluate/{dataset}/{{method}}.{folds}.tsv"
            threads: 1
            params:
                dataset=dataset,
                folds=group,
                facts=evaluation_facts,
                measures={key: config["evaluation"][key] for key in ("metrics", "cutoff", "select_on", "no_relevant")},
                code=code_hash("letorlab.evaluate"),
            script:
                "../scripts/evaluate.py"


# The path of an l1-penalised method on the first fold, with the other parameters as validation chose them there.
rule l1_path:
    input:
        folds=f"{STUDY}/data/{{dataset}}/folds.json",
        parts=f"{STUDY}/data/{{dataset}}/parts",
        fit=f"{STUDY}/runs/{{dataset}}/fold{FOLDS[0]}/{{method}}/fit.json",
    output:
        f"{STUDY}/paths/{{dataset}}/{{method}}.csv",
    log:
        f"{STUDY}/logs/l1_path/{{dataset}}/{{method}}.log",
    benchmark:
        f"{STUDY}/benchmarks/l1_path/{{dataset}}/{{method}}.tsv"
    threads: 1
    params:
        fold=FOLDS[0],
        train_on=lambda wildcards: method_of(wildcards).train_on,
        code=code_hash("letorlab.l1path"),
    script:
        "../scripts/l1_path.py"
