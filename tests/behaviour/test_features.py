"""Every feature that must not be lost, and the test here that would notice.

`COVERED` names tests of this folder, as FILE::NAME without the prefix `test_`, or of pages, as
FOLDER/test_FILE::NAME. `ELSEWHERE` names what no test here can show, and why, with the tests
beside this folder that hold it as far as they go: these know the inside, so whoever rebuilds that
part writes a test of the public face first.
"""

import re
from itertools import chain
from pathlib import Path

import pytest

HERE = Path(__file__).parent
COVERED = {
    "CLI options": {
        "run --limit": ["run_options::a_limit_asks_the_first_questions"],
        "run --sample --sample-seed": [
            "run_options::a_sample_by_a_number_asks_the_same_questions_every_day",
            "run_options::a_sample_by_date_has_so_many_questions_and_says_of_which_day",
        ],
        "run --oracle": [
            "losses_and_oracle::the_oracle_says_what_better_retrieval_could_buy",
            "run_options::the_oracle_asks_with_perfect_retrieval_and_with_none",
        ],
        "run --max-cost": [
            "costs_and_budgets::more_than_max_cost_is_refused_before_anything_is_asked"
        ],
        "run --token-budget": [
            "costs_and_budgets::a_token_budget_ends_a_run_and_a_larger_one_goes_on_with_it"
        ],
        "run --fresh": ["run_options::the_same_command_again_makes_nothing_and_fresh_makes_all"],
        "validate --deep": ["checks_before_a_run::validate_deep_finds_each_fault_that_was_planted"],
        "validate --traffic --unlike": [
            "checks_before_a_run::real_questions_that_no_test_question_is_near_are_counted_and_written"
        ],
        "compare --pair": ["compare_two_runs::cells_of_one_run_are_compared_by_pairs"],
        "compare --allow testset|corpus|metrics": [
            "compare_two_runs::another_test_set_is_refused_and_what_both_share_is_compared_when_allowed",
            "compare_two_runs::all_reasons_are_given_at_once",
            "compare_two_runs::what_another_judge_scored_is_refused_or_left_out",
        ],
        "compare --test": ["compare_two_runs::graded_scores_can_be_tested_otherwise"],
        "compare --correction": ["compare_two_runs::benjamini_and_hochberg_correct_less_than_holm"],
        "compare: simultaneous intervals": [
            "compare_two_runs::the_interval_of_a_table_is_wider_than_that_of_one_metric_alone"
        ],
        "compare --format": ["compare_two_runs::tables_are_printed_for_papers_and_spreadsheets"],
        "compare --out": ["compare_two_runs::pages_are_written_where_out_names"],
        "gate --baseline": [
            "gate_verdicts::a_baseline_by_name_or_file_takes_the_place_of_the_rules_own"
        ],
        "gate --config, rules tried on old runs": [
            "gate_verdicts::a_shown_drop_is_a_regression_with_figures_worked_out_by_hand",
            "gate_verdicts::a_run_without_a_gate_ends_with_2",
        ],
        "gate --junit": ["gate_verdicts::junit_has_a_case_a_rule"],
        "baseline set --cell": ["gate_verdicts::one_cell_can_be_kept"],
        "baseline set RUN RUN": [
            "gate_verdicts::several_runs_are_one_baseline_of_means_and_a_picked_night_is_warned_of"
        ],
        "baseline set --why": [
            "gate_verdicts::the_file_needs_no_run_and_holds_who_when_why_and_all_values"
        ],
        "baseline set --force": [
            "gate_verdicts::a_run_that_is_not_whole_is_promoted_only_by_force"
        ],
        "baseline ls": ["gate_verdicts::all_are_listed"],
        "baseline show": [
            "gate_verdicts::the_file_needs_no_run_and_holds_who_when_why_and_all_values"
        ],
        "history -c": ["history_of_runs::metrics_and_cells_are_chosen_by_name_or_a_part_of_it"],
        "history --every-night": [
            "history_of_runs::every_night_asks_for_more_before_it_calls_a_shift"
        ],
        "evaluate -l": [
            "evaluate_and_score::the_level_of_relevance_is_the_least_grade_that_counts"
        ],
        "evaluate --per-question": [
            "evaluate_and_score::each_question_is_printed_where_that_is_asked_for"
        ],
        "evaluate --run, several": [
            "evaluate_and_score::are_a_row_each_with_their_tests_against_the_first",
            "evaluate_and_score::have_their_numbers_in_json_too",
        ],
        "evaluate --format": ["evaluate_and_score::are_printed_for_papers_and_spreadsheets"],
        "evaluate --answers": ["evaluate_and_score::every_value_is_the_one_worked_out_by_hand"],
        "score --judge": [
            "judge_verdicts::a_stored_run_is_judged_later_by_a_judge_that_is_named",
            "evaluate_and_score::a_judge_that_the_command_names_scores_the_stored_answers",
        ],
        "list --markdown": [
            "list_and_schema::markdown_is_a_table_with_a_row_a_component",
            "list_and_schema::markdown_of_a_family_has_that_family_alone",
        ],
        "schema config": ["list_and_schema::the_configuration_is_what_is_printed_without_a_name"],
        "schema testset": ["list_and_schema::rows_that_no_test_set_may_hold_are_refused"],
        "schema run, records": ["list_and_schema::what_a_run_wrote_is_accepted_and_nothing_beside"],
        "cache gc --older-than --dry-run": [
            "machine_and_cache::gc_deletes_what_was_not_used_for_so_long_and_a_dry_run_nothing"
        ],
        "cache gc --max-size": [
            "machine_and_cache::gc_makes_room_down_to_a_size_and_a_run_makes_it_all_again"
        ],
        "cache ls": [
            "run_options::the_cache_is_listed_and_gives_room_and_the_next_run_makes_it_again"
        ],
        "import --write-corpus": [
            "import_formats::squad_brings_its_corpus_and_unanswerable_questions"
        ],
        "import labels --testset --disagreements": [
            "unjudged_and_pool::two_people_who_disagree_are_an_error_or_one_side_is_taken"
        ],
        "import --corpus": [
            "import_formats::jsonl_rows_keep_their_labels_segments_and_draft_marks",
            "import_formats::a_quote_that_is_nowhere_is_named_with_its_line",
            "unjudged_and_pool::all_that_is_wrong_with_a_pool_is_said_at_once_and_nothing_is_written",
        ],
        "import ratings --cell": [
            "people_rate::thumbs_of_a_run_of_several_cells_need_a_cell",
            "import_formats::thumbs_from_production_are_added_to_the_cell_that_is_named",
        ],
        "import ratings, thumbs": [
            "people_rate::thumbs_from_production_are_matched_counted_and_never_twice",
            "people_rate::thumbs_of_a_table_say_the_same",
        ],
        "export triplets": [
            "export_and_extract::triplets_have_the_wrong_hits_above_each_relevant_chunk"
        ],
        "export parquet": ["export_and_extract::parquet_holds_the_same"],
        "export --chunks": ["export_and_extract::chunks_stay_apart_where_that_is_asked_for"],
        "rate --raters --shared": ["people_rate::raters_share_the_items_that_shared_says"],
        "rate --cell": ["people_rate::cell_and_n_narrow_a_form"],
        "pool --k": [
            "unjudged_and_pool::a_pool_has_each_unjudged_document_once_and_says_nothing_of_its_rank"
        ],
        "pool --seed": ["unjudged_and_pool::the_seed_decides_the_order_of_a_pool"],
        "draft --categories": ["drafts::only_the_categories_that_are_named_are_drafted"],
        "draft accept --id|--all": [
            "drafts::a_run_on_drafts_says_so_until_a_person_has_accepted_them",
            "drafts::accept_names_what_it_cannot_accept_and_changes_nothing",
        ],
        "extract": ["export_and_extract::the_text_of_each_converted_file_is_shown"],
        "HARNESS_<KEY> in the environment": [
            "settings_from_outside::the_command_line_wins_over_the_environment_and_that_over_the_file"
        ],
    },
    "Gate and nightly": {
        "a gate judges what is replied to its own run": [
            "fresh_replies::a_worse_system_on_the_same_address_fails_the_gate",
            "fresh_replies::a_worse_helper_of_a_python_system_fails_the_gate",
            "fresh_replies::a_worse_chat_model_behind_the_same_name_fails_the_gate",
            "fresh_replies::a_stricter_judge_behind_the_same_name_fails_the_gate",
            "fresh_replies::a_gate_refuses_a_stored_run_whose_replies_were_reused",
        ],
        "reuse": ["fresh_replies::reuse_false_asks_anew"],
        "pool of several days, begun anew on a change": [
            "gate_of_each_night::samples_are_judged_together_and_a_change_begins_anew"
        ],
        "date-seeded samples without repetition": [
            "gate_of_each_night::each_day_asks_other_questions_and_is_judged_with_the_days_before"
        ],
        "segment": ["gate_verdicts::a_segment_is_judged_by_itself"],
        "confidence, strict, cannot_tell: pass|fail": [
            "gate_verdicts::what_may_be_chance_passes_unless_the_rule_says_otherwise"
        ],
        "min": ["gate_verdicts::means_are_held_to_min_as_they_stand"],
        "max: seconds": ["gate_verdicts::seconds_are_held_to_max"],
        "max: tokens, money": [
            "gate_verdicts::tokens_and_money_are_held_to_max",
            "gate_verdicts::what_is_not_known_is_not_passed",
        ],
        "max: failures": ["gate_verdicts::too_much_that_failed_ends_with_3_and_nothing_is_judged"],
        "cell": ["gate_verdicts::the_cell_that_is_named_alone_is_judged"],
        "smallest drop that a rule can catch": [
            "gate_of_each_night::validate_says_the_smallest_drop_that_each_rule_can_catch"
        ],
        "floors left out": ["gate_verdicts::floors_are_left_out_unless_the_rules_name_one"],
        "too much failed: exit 3, nothing judged": [
            "gate_verdicts::too_much_that_failed_ends_with_3_and_nothing_is_judged",
            "gate_of_each_night::too_much_that_failed_ends_with_3_after_the_report",
        ],
        "first run without a baseline": [
            "gate_of_each_night::the_first_run_has_no_baseline_and_ends_with_3"
        ],
        "baselines are one file that needs no run folder": [
            "gate_verdicts::the_file_needs_no_run_and_holds_who_when_why_and_all_values"
        ],
        "baselines have a checksum": ["gate_verdicts::a_damaged_baseline_ends_with_2"],
        "GITHUB_STEP_SUMMARY": [
            "gate_verdicts::a_summary_is_appended_for_github",
            "gate_of_each_night::a_run_that_is_stopped_by_failures_tells_ci_servers_so",
            "compare_two_runs::a_summary_is_appended_for_github",
        ],
    },
    "Grid and components": {
        "an axis in a scalar parameter, a chunker's own embedder": [
            "grids::every_chunker_with_header_parent_and_lists_of_values_cuts_as_before"
        ],
        "header, parent": [
            "grids::a_header_is_searched_with_its_chunk_and_a_parent_is_read_in_its_place",
            "grids::every_chunker_with_header_parent_and_lists_of_values_cuts_as_before",
        ],
        "tokenizer": ["models_of_many_kinds::tokens_are_those_of_the_tokenizer_that_is_named"],
        "dimensions, quantize: int8|binary": ["models_of_many_kinds::vectors_are_cut_and_rounded"],
        "prompts of embedders, with a warning": [
            "models_of_many_kinds::a_model_without_the_prompts_it_was_trained_with_is_warned_of"
        ],
        "no cell twice": [
            "grids::a_cell_whose_retriever_reads_no_vectors_is_not_repeated_for_each_embedder"
        ],
        "filtered by Chroma's where": [
            "corpora_of_many_formats::filters_ask_for_what_files_tell_of_themselves",
            "grids::a_field_that_no_document_has_is_refused_with_those_there_are",
        ],
        "nested of, fuse: ranks|scores with weights, keep": [
            "grids::retrievers_in_retrievers_and_rerankers_that_keep_some_rank_as_before"
        ],
        "repeat with seeds and means": [
            "chat_answers::repeat_asks_with_seeds_that_follow_and_scores_are_means_over_samples"
        ],
        "spread of repeated answers": [
            "what_the_report_shows::the_spread_of_repeated_answers_is_their_standard_deviation"
        ],
        "prompt files with places": [
            "chat_answers::a_prompt_file_has_places_for_context_and_question",
            "chat_answers::a_prompt_without_its_places_or_its_file_is_refused",
        ],
        "GGUF window, never cut": [
            "models_of_many_kinds::a_prompt_beyond_the_window_is_a_failure_and_is_never_cut"
        ],
        "retrievers that ask a model": [
            "chat_answers::a_retriever_searches_for_what_the_model_said_and_records_it",
            "grids::retrievers_and_generators_that_ask_a_model_come_to_the_same",
        ],
        "runnable and agent": [
            "systems_of_the_user::functions_and_runnables_are_cells_side_by_side_and_an_agent_has_no_ranking"
        ],
        "JSONPath, label, no redirects, 10 MB": [
            "systems_of_the_user::an_endpoint_s_reply_is_read_by_paths_and_each_fault_is_recorded"
        ],
        "retries": [
            "systems_of_the_user::what_may_pass_is_tried_again_and_each_run_asks_anew",
            "servers_in_trouble::a_fault_that_passes_costs_no_question",
            "servers_in_trouble::refusals_without_end_fail_their_question_alone_and_a_later_run_asks_it_again",
        ],
        "timeout, concurrent": [
            "systems_of_the_user::no_more_than_concurrent_are_asked_at_once_and_none_beyond_its_timeout",
            "chat_answers::no_more_than_concurrent_are_asked_at_once_by_cells_and_judge_together",
            "servers_in_trouble::a_server_that_is_silent_is_given_up_on_at_the_timeout",
        ],
        "trec_run with answers": [
            "systems_of_the_user::a_ranking_and_answers_in_files_are_a_system_and_what_they_lack_counts_0"
        ],
        "contexts looked up in three ways with the share found": [
            "systems_of_the_user::contexts_of_a_function_are_looked_up_in_the_corpus_in_three_ways"
        ],
    },
    "Index and cache": {
        "exact: true": ["run_options::an_index_finds_what_an_exact_search_finds_and_says_so"],
        "Chroma server": [
            "an_index_on_a_server::a_server_s_index_finds_the_same_and_a_later_run_finds_it_filled"
        ],
        "token ${NAME}": [
            "an_index_on_a_server::a_token_is_sent_from_the_environment_and_is_in_no_message"
        ],
        "Chroma cloud, as far as its key": [
            "an_index_on_a_server::a_cloud_without_its_key_is_refused_by_the_key_s_name"
        ],
        "requests halved at 413": [
            "an_index_on_a_server::what_is_too_large_for_a_proxy_is_halved_until_it_passes"
        ],
        "index_recall with a warning": [
            "run_options::an_index_finds_what_an_exact_search_finds_and_says_so",
            "an_index_on_a_server::an_index_that_finds_too_little_is_warned_of",
        ],
        "existing with metadata keys, searched from a copy": [
            "run_options::a_collection_that_is_there_is_searched_as_it_stands_and_not_changed"
        ],
        "two runs sharing one cache": [
            "interrupted_runs::two_runs_that_share_a_cache_at_once_come_to_the_same_records"
        ],
        "work is done once": [
            "run_options::after_an_edit_of_one_document_only_its_new_chunks_are_embedded",
            "run_options::a_new_metric_asks_no_model_and_a_new_context_does",
        ],
        "gc never touches what is in use": ["machine_and_cache::gc_keeps_what_a_run_is_using"],
        "a full disk": [
            "machine_and_cache::a_full_disk_ends_a_run_and_with_room_the_same_command_continues_it",
            "machine_and_cache::a_full_disk_leaves_a_stored_run_as_it_was_when_it_is_scored_again",
        ],
        "a read-only cache": [
            "machine_and_cache::a_disk_that_is_read_only_is_refused_before_anything_is_made"
        ],
        "Windows and disks without locks": [
            "machine_and_cache::where_there_are_no_locks_runs_go_on_and_nothing_is_deleted"
        ],
        # The row `cache_of_a_newer_version` of its table.
        "a newer version's cache": [
            "mistakes::a_mistake_is_said_with_its_status_and_what_it_is_about",
            "machine_and_cache::a_folder_that_cannot_be_written_a_file_that_is_no_model_and_a_newer_cache",
        ],
    },
    "Data": {
        "PDF, DOCX, PPTX and HTML converted, documents.jsonl, card.md": [
            "corpora_of_many_formats::a_folder_of_all_formats_is_one_corpus_and_its_evidence_is_found"
        ],
        "conversions are cached": [
            "corpora_of_many_formats::a_file_is_converted_once_and_again_when_it_has_changed"
        ],
        "on_error: skip": [
            "corpora_of_many_formats::a_file_that_cannot_be_read_is_an_error_or_skipped_and_listed"
        ],
        "glob, html: raw": [
            "corpora_of_many_formats::a_glob_narrows_a_folder_and_html_may_stay_the_markup_it_is"
        ],
        "CSV columns": [
            "corpora_of_many_formats::columns_of_a_table_are_mapped_and_the_others_are_metadata"
        ],
        "metadata for filters": [
            "corpora_of_many_formats::filters_ask_for_what_files_tell_of_themselves"
        ],
        "AutoRAG's groups of gold": ["import_formats::autorag_needs_one_passage_of_each_group"],
        "beir with answers, eight characters off": [
            "import_formats::beir_answers_may_be_eight_characters_off"
        ],
        "trec elements": ["import_formats::trec_topics_are_lines_classic_or_xml"],
        "ragas names old and new": ["import_formats::ragas_is_read_by_new_and_old_names"],
        "${NAME} in paths": ["settings_from_outside::a_variable_in_a_path_is_replaced"],
        "drafts marked until accepted": [
            "drafts::a_run_on_drafts_says_so_until_a_person_has_accepted_them"
        ],
    },
    "Report and stored run": {
        "question browser with addresses": [
            "report/page/test_questions::a_question_has_an_address_and_the_history_leads_back",
            "report/page/test_questions::links_from_elsewhere_set_the_filters",
        ],
        "draggable ranking with formulas": [
            "report/page/test_ranking::every_move_by_keyboard_shows_what_the_library_says_of_the_new_ranking",
            "report/page/test_ranking::a_result_is_dragged_to_where_the_pointer_lets_it_go",
        ],
        "held_in, missed chunks with true rank": [
            "losses_and_oracle::what_was_missed_has_its_true_rank_and_the_answer_its_sentence"
        ],
        "prompt as sent": ["chat_answers::the_prompt_as_sent_and_what_it_took_are_in_the_record"],
        "segments by category, difficulty, document and length": [
            "what_the_report_shows::segments_are_by_category_difficulty_document_and_length"
        ],
        "Pareto front": [
            "what_the_report_shows::the_pareto_front_has_what_no_other_beats_in_score_and_time"
        ],
        "curves over k": ["what_the_report_shows::curves_have_the_mean_at_every_k"],
        "clusters: true": [
            "what_the_report_shows::questions_of_one_document_count_as_a_cluster_where_that_is_asked_for"
        ],
        "a flow of losses over groups": [
            "losses_and_oracle::groups_of_evidence_are_followed_from_stage_to_stage"
        ],
        "losses by segment": [
            "losses_and_oracle::losses_are_counted_by_cell_and_segment_in_the_report"
        ],
        "size bound of 25 MB with a note of what is left out": [
            "what_the_report_shows::texts_that_would_make_the_page_too_large_are_left_out_with_a_note"
        ],
        "attribution": [
            "losses_and_oracle::each_planted_loss_is_found_at_its_stage",
            "losses_and_oracle::a_context_that_is_too_short_loses_what_it_cuts",
            "losses_and_oracle::a_reranker_that_drops_a_piece_of_the_evidence_loses_it",
        ],
        "oracle, evidence_ceiling": [
            "losses_and_oracle::the_oracle_says_what_better_retrieval_could_buy"
        ],
        "questions known from memory": [
            "losses_and_oracle::a_question_that_is_answered_from_nothing_is_said_to_be_memory"
        ],
        "unjudged results with exact bounds": [
            "unjudged_and_pool::what_nobody_judged_has_scores_bounds_and_scenarios"
        ],
        "ahead under every judgement": [
            "unjudged_and_pool::the_order_is_open_or_ahead_under_every_judgement"
        ],
        "people against metrics, suggested weights": [
            "people_agree::the_report_says_how_far_people_agree_and_which_metric_agrees_with_them"
        ],
        "CSP by hashes": [
            "stored_run_and_reports::the_report_holds_the_verdict_and_asks_no_network"
        ],
        "report.json": ["stored_run_and_reports::the_verdict_for_machines_holds_the_main_score"],
        "checksums": ["stored_run_and_reports::a_stored_file_that_was_changed_is_refused_by_name"],
        "rewriting by score and import ratings": [
            "people_rate::ratings_are_added_to_the_run_and_its_report_and_checksums",
            "people_rate::scoring_again_keeps_what_people_said",
            "losses_and_oracle::scoring_again_scores_the_oracle_too",
        ],
        "rewriting is atomic": [
            "machine_and_cache::a_full_disk_leaves_a_stored_run_as_it_was_when_it_is_scored_again"
        ],
        "the price file stored": [
            "costs_and_budgets::money_is_stored_with_the_prices_shown_in_the_leaderboard_and_exported"
        ],
    },
    "Metrics": {
        "each is scored": [
            "every_metric::every_metric_has_a_value_of_this_run_and_keeps_it",
            "every_metric::metrics_that_embed_with_a_real_model_are_as_they_were",
        ],
        "values worked by hand": [
            "every_metric::values_of_answers_and_labels_are_those_worked_by_hand",
            "every_metric::a_ranking_that_is_the_wrong_way_round_loses_what_the_formulas_say",
            "every_metric::metrics_of_declining_count_what_was_declined_rightly",
        ],
    },
    "Comparison and library": {
        "frames, baselines and runs in any mix": [
            "library_functions::runs_baselines_and_frames_compare_in_any_mix_to_the_same_figures"
        ],
        "changed, missing or re-worded questions": [
            "compare_two_runs::another_test_set_is_refused_and_what_both_share_is_compared_when_allowed",
            "library_functions::questions_and_cells_without_a_partner_are_listed",
        ],
        "all refusals at once": ["compare_two_runs::all_reasons_are_given_at_once"],
        "what changed in the configuration": [
            "compare_two_runs::what_changed_between_the_runs_is_listed"
        ],
        "what changed in code and libraries": [
            "compare_two_runs::changes_of_libraries_and_of_the_harness_itself_are_listed",
            "compare_two_runs::a_change_in_the_code_of_ones_own_system_is_listed",
        ],
        "effect size": ["compare_two_runs::the_figures_of_two_runs_are_those_worked_out_by_hand"],
        "failed shares": ["compare_two_runs::shares_of_failed_questions_are_compared_too"],
        "ratings where metrics and people part": [
            "people_agree::compare_says_where_metrics_and_people_part"
        ],
        "apply_gate(rules)": ["library_functions::rules_and_a_baseline_can_be_given"],
        "run, open_run": [
            "library_functions::a_file_and_a_mapping_are_run_alike_and_keys_are_overridden",
            "library_functions::a_stored_run_gives_frames_a_verdict_a_chart_and_a_comparison",
        ],
        "read_history": [
            "history_of_runs::the_library_reads_the_same_history_as_often_as_it_is_asked"
        ],
        "frame, as_dict": ["library_functions::frame_summary_and_dictionary_say_the_same"],
    },
    "Checks and machine": {
        "checks, and a JSON list of findings": [
            "checks_before_a_run::validate_deep_finds_each_fault_that_was_planted",
            "checks_before_a_run::keywords_that_are_everywhere_or_in_no_chunk_are_told",
            "checks_before_a_run::few_labels_that_are_all_positive_are_noted",
            "checks_before_a_run::answers_that_a_model_knew_without_any_context_are_told",
            "checks_before_a_run::an_error_refuses_a_run_before_anything_is_stored",
            "models_of_many_kinds::chunks_that_are_longer_than_models_read_are_told",
        ],
        "findings are kept by content": [
            "checks_before_a_run::findings_are_kept_until_what_they_are_about_changes"
        ],
        "expensive checks are left to --deep": [
            "checks_before_a_run::without_deep_no_model_is_made_and_what_is_expensive_is_not_looked_for"
        ],
        "traffic with its conformal bound": [
            "checks_before_a_run::real_questions_that_no_test_question_is_near_are_counted_and_written",
            "checks_before_a_run::a_run_whose_file_names_traffic_warns_of_it_and_repeats_no_question",
        ],
        "doctor: checksum of the packaged model": [
            "machine_and_cache::a_packaged_model_with_other_weights_is_a_problem"
        ],
        "doctor: open sockets, exit 3": [
            "machine_and_cache::a_server_must_listen_and_is_asked_nothing"
        ],
        "doctor: tracing that sends prompts away": [
            "machine_and_cache::tracing_that_sends_prompts_away_is_told"
        ],
        "doctor: room": ["machine_and_cache::a_disk_without_room_is_told_with_what_is_free_on_it"],
        "doctor: clock": [
            "machine_and_cache::a_clock_that_is_behind_the_installed_files_is_a_problem"
        ],
    },
    "Judges": {
        "judge check by construction": [
            "judge_is_judged::a_judge_that_is_always_right_has_nothing_against_it",
            "judge_is_judged::a_judge_that_is_swayed_by_order_length_and_pleas_is_found_out",
            "judge_is_judged::a_judge_that_changes_its_mind_is_found_out",
        ],
        "judge check CONFIG --n": [
            "judge_is_judged::n_says_how_many_questions_are_drawn",
            "judge_is_judged::a_check_without_a_judge_or_with_too_few_questions_is_refused",
        ],
        "three tries with other seeds": [
            "judge_faults::an_unreadable_verdict_is_asked_for_three_times_with_other_seeds"
        ],
        "never a number where there is no verdict": [
            "judge_faults::one_missing_verdict_of_several_leaves_the_whole_score_out",
            "judge_faults::a_lasting_fault_leaves_the_verdict_out_with_what_the_server_said",
            "judge_faults::a_judge_that_is_gone_ends_the_run_and_the_same_command_continues",
        ],
        "quoting of prompt labels": [
            "judge_verdicts::a_line_of_an_answer_that_poses_as_a_label_is_quoted"
        ],
        "control tokens of GGUF": ["models_of_many_kinds::control_tokens_in_a_text_are_text"],
        "verdicts in the record": ["judge_verdicts::verdicts_become_scores_and_stay_in_the_record"],
        "one concurrency limit": [
            "chat_answers::no_more_than_concurrent_are_asked_at_once_by_cells_and_judge_together"
        ],
    },
    "Security of stored files": {
        "no server and no code of a stored run": [
            "settings_from_outside::a_stored_run_does_not_choose_whom_keys_are_sent_to",
            "stored_runs_are_data::no_verb_on_a_stored_run_imports_opens_or_asks_what_the_run_names",
            "settings_from_outside::a_stored_run_names_no_file_that_is_read",
        ],
        "no code of a baseline or a test set": [
            "settings_from_outside::neither_a_baseline_nor_a_test_set_names_code_that_runs"
        ],
        "bounds of YAML: depth, values and aliases": [
            "import_formats::yaml_has_bounds_of_depth_values_and_aliases",
            "import_formats::yaml_is_a_list_of_questions_without_aliases",
        ],
    },
}
ELSEWHERE = {
    "Chroma cloud": (
        "nothing here can be asked in its place: its address is fixed, and it wants a key",
        ["index/test_server::a_cloud_that_refuses_the_key_names_its_variable"],
    ),
    "conversion is bounded to 120 s and 4 GB": (
        "the bounds are no setting, and a file that reaches one takes that long",
        [
            "corpus/test_hostile_documents::a_file_that_takes_too_long_is_given_up_and_the_next_is_read"
        ],
    ),
    "which machine did what": (
        "it takes a cluster of machines, of which one dies",
        [
            "runs/test_cluster::a_cluster_of_two_machines_one_of_which_dies_gives_what_one_machine_gives"
        ],
    ),
    "a published GGUF model answers": (
        "such a file is no part of the repository",
        ["models/test_gguf_chat::a_published_model_answers_a_question_and_says_the_same_again"],
    ),
}


def names_of(file: Path) -> set[str]:
    """Return the names of the tests that a file holds, without their prefix."""
    return set(re.findall(r"^ *def test_(\w+)\(", file.read_text("utf-8"), re.MULTILINE))


@pytest.mark.parametrize("paragraph", COVERED)
def test_each_feature_has_a_test_that_is_there(paragraph):
    for feature, tests in COVERED[paragraph].items():
        assert tests, feature
        for test in tests:
            file, _, name = test.partition("::")
            path = HERE.parent / f"{file}.py" if "/" in file else HERE / f"test_{file}.py"
            assert name in names_of(path), f"{feature}: {test}"


@pytest.mark.parametrize("feature", ELSEWHERE)
def test_what_is_held_elsewhere_is_there(feature):
    why, tests = ELSEWHERE[feature]
    assert why
    for test in tests:
        file, _, name = test.partition("::")
        assert name in names_of(HERE.parent / f"{file}.py"), test


def test_no_feature_is_told_to_be_held_in_both_places():
    covered = set(chain.from_iterable(COVERED.values()))

    assert not covered & set(ELSEWHERE)
