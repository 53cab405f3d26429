"""What people get wrong on the command line, and in files that are no configuration."""

from __future__ import annotations

from tests.behaviour.mistakes import CHAT, MADE, PRICES, RULES, RUN, typed, without, wrong

ASKING = {"generators": ["chat"], "chat": CHAT}
QRELS = "q1\t0\tmoon.md\t1\n"
RANKED = "q1 Q0 moon.md 1 2.5 tag\n"
SCORED = {"qrels.txt": QRELS, "ranked.txt": RANKED}
EVALUATE = "evaluate --qrels qrels.txt --run ranked.txt"

COMMAND_LINE = {
    "verb_unknown": typed("nonsense", "'nonsense'"),
    "option_unknown": typed(f"{RUN} --nonsense", "--nonsense"),
    "argument_missing": typed("run", "config"),
    "limit_of_0": typed(f"{RUN} --limit 0", "--limit", "1"),
    "limit_is_a_word": typed(f"{RUN} --limit all", "--limit", "integer"),
    "sample_of_0": typed(f"{RUN} --sample 0", "--sample", "1"),
    "sample_seed_is_a_word": typed(f"{RUN} --sample 1 --sample-seed daily", "daily"),
    "configuration_missing": typed("run nowhere.yaml", "nowhere.yaml", "harness init"),
    "configuration_is_a_folder": typed("run corpus", "corpus"),
    "set_without_a_value": typed(f"{RUN} --set sk-do-not-print", "--set", "key=value"),
    "set_of_an_unknown_key": typed(f"{RUN} --set retreive=5", "retreive", "'retrieve'"),
    "set_of_the_wrong_type": typed(f"{RUN} --set retrieve=many", "--set retrieve", "'many'"),
    "set_of_broken_yaml": typed(f"{RUN} --set 'retrievers=[dense'", "--set retrievers", "YAML"),
    "set_of_a_secret_that_is_no_yaml": typed(
        f"{RUN} --set 'chat.model=*sk-do-not-print'", "--set chat.model", "YAML"
    ),
    "set_below_a_number": typed(f"{RUN} --set seed.x=1", "seed"),
    "variable_of_the_wrong_type": typed(
        RUN, "HARNESS_RETRIEVE", "'lots'", environment={"HARNESS_RETRIEVE": "lots"}
    ),
    "max_cost_without_prices": wrong("max_cost", "prices", command=f"{RUN} --max-cost 2", **ASKING),
    "max_cost_without_the_price_of_a_model": wrong(
        "'openai:gpt-test'", "{input: 0.1, output: 0.4}", command=f"{RUN} --max-cost 2",
        files={"prices.yaml": PRICES.replace("gpt-test", "gpt-tset")}, prices="prices.yaml",
        **ASKING,
    ),
    "max_cost_too_small": wrong(
        "max_cost", "3 answers by openai:gpt-test", command=f"{RUN} --max-cost 0.00001",
        files={"prices.yaml": PRICES}, prices="prices.yaml", **ASKING,
    ),
    "max_cost_is_negative": typed(f"{RUN} --max-cost -1", "-1"),
    "token_budget_of_0": typed(f"{RUN} --token-budget 0", "--token-budget"),
    "key_of_a_hosted_model_missing": wrong(
        "OPENAI_API_KEY", generators=["chat"], chat="openai:gpt-test"
    ),
    "baseline_of_the_gate_missing": wrong(
        "'mian'", "baseline set RUN", gate=RULES, status=3
    ),
    "junit_without_a_gate": typed(f"{RUN} --junit junit.xml", "gate"),
    "family_unknown": typed("list metric", "'metric'", "did you mean 'metrics'"),
    "schema_unknown": typed("schema tests", "'tests'", "testset"),
    "new_project_over_an_old_one": typed("init .", "config.yaml"),
    "doctor_of_a_wrong_configuration": typed("doctor config.yaml --set seed=x", "--set seed"),
    "extracts_of_a_corpus_that_is_missing": typed("extract nowhere", "nowhere"),
    "draft_without_a_model": typed("draft config config.yaml -o drafts.jsonl", "chat"),
    "draft_accepts_nothing": typed("draft accept testset.jsonl", "--id", "--all"),
    "draft_accepts_an_unknown_id": typed("draft accept testset.jsonl --id q9", "q9"),
    "judge_missing": typed("judge check config.yaml", "judge"),
    "cache_not_there": typed("cache ls --cache elsewhere", "'elsewhere'"),
    "cache_is_none": typed("cache gc --cache corpus --max-size 0B", "'corpus'"),
    "cache_of_a_newer_version": typed(
        RUN, "'.harness'", "newer", files={".harness/cache.json": '{"version": 999999}'}
    ),
    "cache_of_a_newer_version_is_not_freed": typed(
        "cache gc --max-size 0B", "'.harness'", "newer",
        files={".harness/cache.json": '{"version": 999999}'},
    ),
    "cache_freed_by_no_rule": typed("cache gc", "--older-than", "--max-size"),
    "duration_without_a_unit": typed("cache gc --older-than 30", "'30'", "30d"),
    "size_without_a_unit": typed("cache gc --max-size 5", "'5'", "5GB"),
    "library_of_hosted_models_missing": without(
        "langchain_mistralai", "mistralai:small", generators=["chat"], chat="mistralai:small"
    ),
    "library_of_local_models_missing": without(
        "xllamacpp", "xllamacpp>=", generators=["chat"], chat="gguf:m.gguf",
        files={"m.gguf": b"GGUF"},
    ),
    "library_of_static_models_missing": without(
        "wordllama", "wordllama>=", "'wordllama'", embedders=["wordllama"]
    ),
    "library_of_documents_missing": without(
        "pypdfium2", "pypdfium2>=", "paper.pdf", files={"corpus/paper.pdf": b"%PDF-1.4"}
    ),
    "library_of_a_cluster_missing": without(
        "ray", "ray>=", execution={"ray": {"address": "local"}}
    ),
    "library_of_parquet_missing": without(
        "pyarrow", "pyarrow>=", command=f"export parquet {MADE} -o out.parquet"
    ),
}  # fmt: skip
FILES = {
    "evaluate_nothing": typed("evaluate", "--qrels", "--run", "--answers"),
    "evaluate_without_qrels": typed("evaluate --run ranked.txt", "--qrels", files=SCORED),
    "qrels_missing": typed("evaluate --qrels nowhere.txt --run ranked.txt", "nowhere.txt",
        files=SCORED),
    "qrels_of_two_columns": typed(EVALUATE, "qrels.txt", "line 2",
        files=SCORED | {"qrels.txt": QRELS + "q1 moon.md\n"}),
    "qrels_with_a_word_for_a_grade": typed(EVALUATE, "qrels.txt", "line 1", "good",
        files=SCORED | {"qrels.txt": "q1 0 moon.md good\n"}),
    "qrels_empty": typed(EVALUATE, "qrels.txt", files=SCORED | {"qrels.txt": ""}),
    "ranking_with_a_word_for_a_score": typed(EVALUATE, "ranked.txt", "line 1", "high",
        files=SCORED | {"ranked.txt": "q1 Q0 moon.md 1 high tag\n"}),
    "ranking_with_a_document_twice": typed(EVALUATE, "ranked.txt", "line 2", "moon.md",
        files=SCORED | {"ranked.txt": RANKED * 2}),
    "ranking_scored_by_an_unknown_metric": typed(f"{EVALUATE} -m ndgc@5", "'ndgc'", "'ndcg'",
        files=SCORED),
    "ranking_scored_by_a_metric_of_answers": typed(f"{EVALUATE} -m token_f1", "token_f1",
        files=SCORED),
    "answers_of_a_broken_line": typed("evaluate --answers answers.jsonl", "line 2",
        files={"answers.jsonl": '{"answer": "x", "references": ["x"]}\n{"answer": 5}\n'}),
    "run_is_not_there": typed("report reports/nowhere", "reports/nowhere", "run.json"),
    "run_is_another_folder": typed("gate corpus", "corpus", "run.json"),
    "run_is_no_json": typed(f"report {MADE}", MADE, "run.json", files={f"{MADE}/run.json": "{"}),
    "run_of_a_newer_version": typed(f"compare {MADE} {MADE}", "newer",
        files={f"{MADE}/run.json": '{"schema": 999}'}),
    "run_of_an_older_version": typed(f"report {MADE}", "older", "run its configuration again",
        files={f"{MADE}/run.json": '{"schema": 1}'}),
    "records_are_cut_short": typed(f"report {MADE}", "records.jsonl",
        files={f"{MADE}/records.jsonl": ('"declined"', '"declin')}),
    "records_are_missing": typed(f"score {MADE} -m token_f1", "records.jsonl",
        files={f"{MADE}/records.jsonl": None}),
    "records_changed_by_hand": typed(f"export csv {MADE} -o out.csv", "records.jsonl", "by hand",
        files={f"{MADE}/records.jsonl": ('"question":"q1"', '"question":"q8"')}),
    "scored_by_an_unknown_metric": typed(f"score {MADE} -m tokenf1", "'tokenf1'", "'token_f1'"),
    "scored_without_a_judge": typed(f"score {MADE} -m faithfulness", "judge"),
    "scored_deeper_than_retrieved": typed(f"score {MADE} -m recall@9", "recall@9", "4"),
    "gate_without_rules_in_the_run": typed(f"gate {MADE}", "gate"),
    "gate_against_no_baseline": typed(f"gate {MADE} --baseline mian", "gate"),
    "baseline_is_not_there": typed("baseline show mian", "'mian'"),
    "baseline_of_a_name_that_is_a_path": typed(f"baseline set {MADE} --name ../main", "'../main'"),
    "baseline_of_an_unknown_cell": typed(f"baseline set {MADE} --name m --cell nope", "'nope'"),
    "baseline_damaged": typed(f"compare main {MADE}", "main.json",
        files={"baselines/main.json": "{"}),
    "compare_with_nothing": typed(f"compare nowhere {MADE}", "nowhere"),
    "compare_by_an_unknown_metric": typed(f"compare {MADE} {MADE} -m ndcg@2", "'ndcg@2'"),
    "compare_by_an_unknown_test": typed(f"compare {MADE} {MADE} --test chi", "'chi'", "wilcoxon"),
    "compare_an_unknown_cell": typed(f"compare {MADE} {MADE} --pair a=b", "'a=b'"),
    "compare_allows_an_unknown_thing": typed(f"compare {MADE} {MADE} --allow all", "'all'",
        "testset"),
    "history_of_nothing": typed("history nowhere", "nowhere"),
    "history_of_an_unknown_metric": typed("history -m ndcg@2", "ndcg@2"),
    "export_of_an_unknown_form": typed(f"export xlsx {MADE} -o out", "'xlsx'", "parquet"),
    "export_over_a_file": typed(f"export csv {MADE} -o testset.jsonl", "testset.jsonl", "--force"),
    "import_of_an_unknown_form": typed("import sqad x.json -o out.jsonl", "'sqad'", "'squad'"),
    "import_of_a_file_that_is_missing": typed("import squad x.json -o out.jsonl", "x.json"),
    "import_over_a_file": typed("import jsonl testset.jsonl --corpus corpus -o testset.jsonl",
        "testset.jsonl"),
    "labels_of_no_pool": typed("import labels pool.csv --testset testset.jsonl", "pool.csv",
        files={"pool.csv": "a,b\n1,2\n"}),
    "ratings_of_no_form": typed(f"import ratings rate.json --run {MADE}", "rate.json",
        files={"rate.json": "{}"}),
    "rate_an_unknown_cell": typed(f"rate {MADE} --cell nope", "'nope'"),
    "pool_of_0": typed(f"pool {MADE} -o pool.csv --k 0", "--k"),
    "pool_of_another_form": typed(f"pool {MADE} -o pool.xlsx", "pool.xlsx", ".csv"),
}  # fmt: skip
