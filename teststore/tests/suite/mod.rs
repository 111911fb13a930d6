//! The conformance suite of the store contract. It has one function per behaviour, written against
//! `Arc<dyn Store>`, and `store_suite!` makes a test of each function for a backend. Every backend
//! must pass the same suite; features of a single backend are tested elsewhere.

pub(crate) mod changes;
pub(crate) mod deaths;
pub(crate) mod deletions;
pub(crate) mod domains;
pub(crate) mod dry_imports;
pub(crate) mod ended_keys;
pub(crate) mod erasures;
pub(crate) mod filled;
pub(crate) mod filters;
pub(crate) mod groups;
pub(crate) mod histories;
pub(crate) mod idempotency;
pub(crate) mod import_repeats;
pub(crate) mod imports;
pub(crate) mod issue_deletes;
pub(crate) mod issue_upserts;
pub(crate) mod issue_writes;
pub(crate) mod issues;
pub(crate) mod limits;
pub(crate) mod logged;
pub(crate) mod longest;
pub(crate) mod oracle;
pub(crate) mod people;
pub(crate) mod profile_lists;
pub(crate) mod profile_writes;
pub(crate) mod profiles;
pub(crate) mod queries;
pub(crate) mod redactions;
pub(crate) mod steps;
pub(crate) mod support;
pub(crate) mod task_ends;
pub(crate) mod tasks;
pub(crate) mod texts;
pub(crate) mod uploads;
pub(crate) mod views;
pub(crate) mod webhooks;

/// Makes one test per behaviour. `$open` is a function that returns a new store and a guard that
/// must live as long as the store. `core` and `issues` make one half of the tests each.
#[macro_export]
macro_rules! store_suite {
    ($open:path) => {
        $crate::store_suite!(core $open);
        $crate::store_suite!(issues $open);
    };
    (core $open:path) => {
        $crate::store_suite!(@ $open, domains:
            a_new_domain_has_one_app_called_web,
            two_domains_cannot_share_a_name,
            domains_are_listed_by_name,
            a_desk_has_a_default_and_belongs_to_its_domain,
            a_key_grants_access_until_it_expires_or_is_revoked,
            a_key_with_a_known_id_or_hash_is_refused,
            a_replaced_key_passes_on_its_access_and_ends,
            records_of_an_unknown_domain_are_refused,
            apps_get_increasing_publish_ids,
            an_agent_id_that_exists_is_refused,
            deleting_a_domain_removes_all_its_data_and_no_other_data,
        );
        $crate::store_suite!(@ $open, tasks:
            an_accepted_task_can_be_read_with_its_payload,
            a_task_is_visible_only_in_its_family_and_domain,
            a_task_id_that_exists_is_refused,
            a_domain_with_a_full_queue_refuses_new_tasks,
            tasks_are_listed_in_the_order_of_their_times_even_if_clocks_differ,
            claiming_leases_the_oldest_writing_task_and_queues_the_rest,
            reading_tasks_do_not_wait_for_writing_ones,
            the_fair_queue_serves_domains_in_turn,
            in_a_queue_longer_than_a_claim_reads_every_domain_has_its_turn,
            a_lease_expires_can_be_renewed_and_can_be_released,
            a_clock_that_was_ahead_delays_no_task_for_longer_than_an_hour,
            a_failed_attempt_is_repeated_later_and_the_fifth_fails_the_task,
            an_attempt_that_failed_for_outside_reasons_is_not_counted,
            a_worker_whose_lease_was_taken_cannot_commit,
            no_entry_is_applied_twice,
            a_chunk_that_does_not_match_its_task_is_refused,
            one_chunk_applies_all_blocks_that_its_feed_holds,
            blocks_out_of_order_are_refused,
            runners_are_notified_of_new_work,
            metrics_count_the_tasks_that_wait_and_those_that_run,
            every_command_on_a_closed_store_returns_closed,
        );
        $crate::store_suite!(@ $open, ended_keys:
            a_command_of_a_key_that_ended_is_refused,
        );
        $crate::store_suite!(@ $open, deaths:
            a_task_waits_longer_after_each_death_of_a_server_and_no_other_task_waits,
            a_task_that_waits_after_a_death_can_be_cancelled,
            tasks_that_one_server_had_are_tried_one_after_another,
            a_dry_run_in_several_chunks_judges_each_entry_on_the_earlier_ones,
        );
        $crate::store_suite!(@ $open, uploads:
            a_task_begins_with_its_staged_blocks,
            the_whole_payload_can_be_staged,
            discarding_removes_an_upload_that_no_task_accepted,
            an_accepted_upload_cannot_be_discarded_or_continued,
            an_upload_with_missing_blocks_is_refused,
            an_abandoned_upload_is_purged_block_by_block,
            an_upload_of_several_tasks_lives_while_it_continues,
            deleting_a_domain_removes_its_uploads,
            a_refused_task_leaves_its_upload_staged,
        );
        $crate::store_suite!(@ $open, dry_imports:
            a_dry_import_promises_the_outcomes_of_the_import,
            an_entry_is_warned_of_a_record_that_an_earlier_task_changed,
            only_a_file_is_warned_of_repeated_issues,
        );
        $crate::store_suite!(@ $open, imports:
            an_import_is_created_whole_and_runs_in_the_order_of_its_file,
            an_import_is_visible_only_in_its_family_and_domain,
            random_filters_list_the_imports_that_a_naive_reading_finds,
            cancelling_an_import_ends_its_unfinished_tasks,
            a_refused_import_changes_nothing,
            an_import_needs_room_for_one_task,
            deleting_a_domain_removes_its_imports,
        );
        $crate::store_suite!(@ $open, import_repeats:
            an_import_has_one_retry_that_it_names,
            a_dry_import_has_one_run_that_it_names,
            a_file_sent_again_is_a_repeat_until_its_import_expires,
            one_of_eight_concurrent_imports_of_a_file_is_created,
            concurrent_imports_of_a_file_that_are_all_wanted_form_a_chain,
            a_repeated_request_for_an_import_gets_the_first_answer,
            an_expired_import_loses_its_entries_but_not_its_rows,
        );
        $crate::store_suite!(@ $open, idempotency:
            a_repeat_gets_the_first_answer_until_its_key_has_expired_and_is_purged,
            a_key_reused_with_other_content_is_refused,
            a_refused_request_leaves_its_key_free,
            one_of_a_hundred_concurrent_repeats_takes_effect,
            keys_are_removed_when_they_expire_or_their_domain_is_deleted,
        );
        $crate::store_suite!(@ $open, task_ends:
            cancelling_a_task_without_a_lease_takes_effect_at_once,
            a_task_is_completed_when_its_last_chunk_ends,
            cancelling_a_running_task_takes_effect_at_its_next_chunk,
            a_cancelled_task_ends_even_if_its_attempt_fails_or_its_lease_expires,
            a_retry_has_the_failed_and_unprocessed_entries_at_their_indexes,
            a_retry_of_a_failed_task_omits_the_entries_that_succeeded,
            a_task_has_one_retry_that_it_names,
            a_dry_run_holds_its_payload_and_has_one_run_that_it_names,
            a_task_names_its_submitter_and_its_file,
            random_filters_list_the_tasks_that_a_naive_reading_finds,
            tasks_are_listed_newest_first_and_filtered_by_status_and_action,
            expired_payloads_and_records_are_purged_in_steps_but_not_their_task,
        );
        $crate::store_suite!(@ $open, profiles:
            a_task_of_ten_thousand_entries_runs_to_completion,
            created_profiles_can_be_read,
            an_identity_conflict_fails_only_its_entry,
            conflicts_within_and_across_slices_name_the_first_owner,
            updates_move_identities_between_profiles,
            an_update_without_changes_leaves_updated_at_alone,
            ids_and_times_increase_even_if_the_clock_goes_back,
            a_dry_run_changes_nothing,
            a_dry_run_plans_each_entry_on_top_of_the_earlier_ones,
            a_missing_profile_fails_its_entry,
            get_results_follow_the_order_of_the_entries,
            failed_entries_remain_in_the_payload,
            profiles_of_one_domain_are_invisible_to_another,
            a_check_of_sound_data_reports_no_faults,
        );
        $crate::store_suite!(@ $open, people:
            random_tasks_agree_with_a_naive_store_of_people,
            the_same_upserts_again_write_nothing,
            deleted_profiles_leave_issues_and_the_profiles_of_the_other_kind,
        );
        $crate::store_suite!(@ $open, profile_lists:
            random_filters_find_the_same_profiles_as_a_naive_reading,
            all_steps_together_are_the_whole_list_of_profiles,
            profiles_that_share_an_identity_lead_to_each_other,
            a_page_of_profiles_ends_before_its_byte_limit,
            profiles_of_other_domains_are_not_listed,
        );
        $crate::store_suite!(@ $open, longest:
            people_with_the_longest_identities_are_written_and_found,
            an_author_with_the_longest_identifier_or_address_is_found,
            the_longest_values_of_every_field_are_stored,
        );
        $crate::store_suite!(@ $open, webhooks:
            a_webhook_is_created_edited_and_deleted,
            of_many_webhooks_at_once_a_domain_takes_only_its_quota,
            of_two_servers_one_has_a_webhook_at_a_time,
            an_attempt_moves_the_cursor_or_is_repeated_or_pauses,
            a_change_by_a_caller_voids_the_attempt_under_way,
            a_replay_moves_the_cursor_within_the_stored_log,
            a_test_is_due_at_once_even_if_paused,
            the_last_deliveries_remain_and_go_with_their_webhook,
            changes_that_do_not_match_are_skipped,
        );
        $crate::store_suite!(@ $open, views:
            a_view_is_seen_by_its_key_or_by_its_domain,
            of_two_views_at_once_one_gets_the_name,
            a_key_and_a_domain_have_no_more_views_than_they_may,
            the_views_of_a_key_end_with_it_or_go_to_the_key_that_replaces_it,
            an_erasure_removes_the_views_that_name_the_person,
        );
        $crate::store_suite!(@ $open, profile_writes: random_writes_and_lists_take_turns,);
    };
    (issues $open:path) => {
        $crate::store_suite!(@ $open, filters:
            random_filters_find_the_same_issues_as_a_naive_store,
        );
        $crate::store_suite!(@ $open, groups:
            random_counts_are_those_of_a_naive_store,
        );
        $crate::store_suite!(@ $open, issues:
            imported_issues_have_the_ids_and_times_of_their_entries,
            a_single_issue_has_the_fields_that_the_view_selects,
            importing_a_known_id_is_unchanged_or_a_conflict,
            later_blocks_of_a_chunk_see_the_issues_of_earlier_blocks,
            equal_creation_times_are_shifted_across_slices_and_tasks,
            an_import_creates_the_apps_agents_and_app_profiles_it_names,
            large_imports_index_every_issue_under_its_author,
            a_dry_import_changes_nothing_and_sees_its_own_entries,
            issues_are_visible_in_one_domain_and_deleted_with_it,
            deep_pages_equal_those_of_a_naive_store,
            a_list_that_exceeds_its_budget_returns_deadline_passed,
            lists_and_records_equal_those_of_a_naive_store,
            the_cursor_procedure_delivers_each_issue_once,
        );
        $crate::store_suite!(@ $open, steps:
            all_steps_together_are_the_whole_sorted_list,
            a_position_among_equal_times_skips_and_repeats_nothing,
            a_page_ends_before_its_byte_limit_and_a_step_continues_it,
            a_step_ends_at_its_byte_limit_and_the_next_one_continues,
            a_position_outside_the_filtered_range_is_moved_to_its_end,
            a_step_that_exceeds_its_budget_returns_deadline_passed,
        );
        $crate::store_suite!(@ $open, limits:
            limits_are_stored_with_their_domain,
            a_write_beyond_the_quota_on_bytes_changes_nothing,
            a_task_beyond_the_quota_on_bytes_waits_for_room,
            a_domain_may_have_as_many_unfinished_tasks_as_its_quota,
            staged_blocks_count_until_they_are_discarded,
            a_write_of_a_key_that_was_revoked_changes_nothing,
            creation_times_return_to_the_true_time_after_a_jump_of_the_clock,
        );
        $crate::store_suite!(@ $open, issue_deletes:
            random_deletions_leave_the_other_issues_and_their_index,
            a_deleted_issue_goes_with_its_files_and_can_be_imported_again,
            an_edit_meets_a_deletion_before_or_after_it,
        );
        $crate::store_suite!(@ $open, deletions:
            one_of_two_calls_deletes_the_record,
            a_repeated_deletion_gets_the_first_answer,
            an_edit_meets_a_deleting_call_before_or_after_it,
            a_task_meets_deleting_calls_between_its_chunks,
        );
        $crate::store_suite!(@ $open, erasures:
            an_erased_person_leaves_nothing_and_the_others_stay,
            tasks_are_shown_with_the_entries_that_an_erasure_takes,
            each_task_is_shown_once_however_long_it_is,
            a_killed_erasure_continues_and_counts_everything_once,
            no_one_and_placeholders_are_not_erased,
            a_cancelled_erasure_can_be_erased_and_run_again,
        );
        $crate::store_suite!(@ $open, redactions:
            each_part_is_redacted_and_found_in_the_log,
            the_issues_of_a_person_are_redacted_and_the_person_stays,
            a_form_that_erases_a_person_makes_a_task_with_its_other_effects,
        );
        $crate::store_suite!(@ $open, issue_upserts:
            random_upserts_agree_with_a_naive_store_of_issues,
            a_replaced_issue_loses_the_files_that_its_messages_do_not_show,
            an_edit_meets_a_replacement_before_or_after_it,
            edits_that_wait_for_a_replacement_change_the_new_issue,
        );
        $crate::store_suite!(@ $open, filled:
            a_store_with_rows_in_every_table_passes_the_check,
        );
        $crate::store_suite!(@ $open, issue_writes:
            a_live_issue_is_later_than_every_other_live_one_and_gets_a_larger_id,
            an_import_of_the_far_future_shifts_no_live_issue,
            imports_at_the_last_instant_take_the_nearest_free_ones_before_it,
            new_issues_get_free_ids_after_the_largest_id_is_taken,
            new_issues_get_current_times_after_the_last_instant_is_taken,
            random_writes_are_indexed_and_counted,
            concurrent_messages_are_all_stored_in_the_order_of_their_times,
            a_bulk_edit_with_a_fault_changes_nothing,
            an_issue_cannot_grow_beyond_the_limit_of_an_import,
            a_repeated_write_gets_the_first_answer_and_writes_nothing,
            attachments_belong_to_their_message,
            unclaimed_attachments_are_purged,
            a_message_with_a_lost_attachment_is_refused,
        );
        $crate::store_suite!(@ $open, logged:
            administration_is_logged_with_its_author,
            an_edit_of_a_domain_that_changes_nothing_is_not_logged,
            old_changes_are_dropped_and_a_late_reader_gets_an_error,
            a_batch_from_the_future_holds_those_that_follow_it,
            an_import_logs_the_records_that_it_creates_by_their_names,
            a_replaced_issue_is_logged_with_its_old_and_new_values,
        );
        $crate::store_suite!(@ $open, changes:
            a_single_call_is_logged_with_its_caller_and_its_values,
            a_task_is_logged_with_the_entries_that_had_an_effect,
            a_filter_finds_the_changes_that_a_naive_reading_finds,
            a_follower_of_concurrent_writers_misses_no_change,
            a_repeated_or_refused_call_is_not_logged_again,
        );
        $crate::store_suite!(@ $open, histories:
            the_history_of_a_record_is_what_a_reading_of_the_log_finds,
        );
        $crate::store_suite!(@ $open, texts:
            random_writes_are_found_before_and_after_the_index_takes_them_in,
            many_issues_are_settled_in_steps_and_a_few_are_left_for_later,
            many_writes_of_one_issue_are_settled,
            marks_of_issues_that_are_gone_do_not_stay,
        );
    };
    (@ $open:path, $module:ident: $($behaviour:ident,)+) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let (store, _keep) = $open();
                    $crate::suite::$module::$behaviour(store).await;
                }
            )+
        }
    };
}
