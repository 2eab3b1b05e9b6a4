# From files or an archive to prepared parts, folds and derived queries.


onstart:
    if not only_simulations(workflow.dag_settings.targets):
        require_all()


rule prepare:
    output:
        card=f"{STUDY}/data/{{dataset}}/card.json",
        folds=f"{STUDY}/data/{{dataset}}/folds.json",
        parts=directory(f"{STUDY}/data/{{dataset}}/parts"),
    log:
        f"{STUDY}/logs/prepare/{{dataset}}.log",
    benchmark:
        f"{STUDY}/benchmarks/prepare/{{dataset}}.tsv"
    params:
        # Where the data lies is not a parameter: the same files elsewhere make the same results.
        block=lambda wildcards: config["datasets"][wildcards.dataset],
        seed=config["seed"],
        folds=FOLDS,
        code=code_hash("letorlab.prepare", resources=["catalogue.yaml", "known_files.txt"]),
    script:
        "../scripts/prepare.py"


rule derive:
    input:
        folds=f"{STUDY}/data/{{dataset}}/folds.json",
        parts=f"{STUDY}/data/{{dataset}}/parts",
    output:
        directory(f"{STUDY}/data/{{dataset}}/derived"),
    log:
        f"{STUDY}/logs/derive/{{dataset}}.log",
    benchmark:
        f"{STUDY}/benchmarks/derive/{{dataset}}.tsv"
    params:
        **config["derived"],
        seed=config["seed"],
        folds=FOLDS,
        code=code_hash("letorlab.derive"),
    script:
        "../scripts/derive.py"
