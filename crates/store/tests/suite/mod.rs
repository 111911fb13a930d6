//! The conformance suite of the store contract: one function per behaviour, written against
//! `Arc<dyn Store>`. `store_suite!` stamps all of them onto a backend, so that a second one is held
//! to the same words. What only one backend has (files, locks, processes) is tested beside it.

pub(crate) mod domains;
pub(crate) mod ends;
pub(crate) mod filters;
pub(crate) mod issues;
pub(crate) mod oracle;
pub(crate) mod payloads;
pub(crate) mod profiles;
pub(crate) mod queries;
pub(crate) mod repeats;
pub(crate) mod steps;
pub(crate) mod tasks;
pub(crate) mod uploads;
pub(crate) mod whole;
pub(crate) mod writing;

/// Makes one test per behaviour; `$open` is a function that makes a fresh store and whatever must
/// live as long as it. `core` and `issues` make one half of them.
#[macro_export]
macro_rules! store_suite {
    ($open:path) => {
        $crate::store_suite!(core $open);
        $crate::store_suite!(issues $open);
    };
    (core $open:path) => {
        $crate::store_suite!(@ $open, domains:
            a_new_domain_has_the_app_web,
            a_domain_name_is_taken_once,
            domains_are_listed_by_name,
            keys_open_their_domain_until_they_are_revoked,
            a_key_is_kept_once,
            what_belongs_to_a_domain_needs_the_domain,
            apps_get_increasing_publish_ids,
            agents_are_kept_once,
            a_deleted_domain_leaves_nothing_and_others_alone,
        );
        $crate::store_suite!(@ $open, tasks:
            an_accepted_task_is_there_with_its_payload,
            each_family_knows_only_its_own_tasks,
            a_task_id_is_taken_once,
            the_queue_of_a_domain_has_a_limit,
            claiming_queues_all_and_leases_the_oldest_writing_task,
            reading_tasks_overtake_writing_ones,
            domains_take_turns,
            a_lease_ends_is_renewed_and_is_given_back,
            a_failed_attempt_waits_and_the_fifth_completes,
            a_fault_that_is_not_the_tasks_is_not_counted,
            an_older_lease_cannot_commit,
            entries_are_applied_once,
            a_chunk_of_another_action_is_refused,
            a_chunk_takes_the_parts_that_follow,
            parts_out_of_order_are_refused,
            the_bell_rings_for_new_work,
            a_closed_store_says_so,
        );
        $crate::store_suite!(@ $open, uploads:
            staged_blocks_are_the_beginning_of_their_task,
            a_payload_may_be_staged_whole,
            what_is_staged_and_not_accepted_goes_when_it_is_discarded,
            an_accepted_upload_cannot_be_discarded_or_continued,
            an_upload_of_which_a_part_is_gone_is_not_accepted,
            an_upload_that_nobody_continues_is_removed_in_steps,
            an_upload_goes_with_its_domain,
            a_refused_task_leaves_its_upload_to_be_discarded,
        );
        $crate::store_suite!(@ $open, repeats:
            a_repeat_gets_the_first_answer_whatever_happened_since,
            a_key_with_other_content_is_refused,
            a_refused_request_leaves_its_key_free,
            of_a_hundred_at_once_one_takes_effect,
            expired_keys_are_removed_and_a_domain_takes_its_keys_along,
        );
        $crate::store_suite!(@ $open, ends:
            a_task_that_nobody_works_on_is_cancelled_at_once,
            a_running_task_is_cancelled_at_the_edge_of_a_chunk,
            a_cancelled_task_ends_even_if_its_server_fails_or_is_gone,
            what_failed_or_was_left_is_retried_in_its_places,
            a_task_that_the_server_failed_is_retried_without_what_succeeded,
            tasks_are_listed_newest_first_by_state_and_action,
            what_has_expired_is_removed_in_steps_and_the_task_stays,
        );
        $crate::store_suite!(@ $open, profiles:
            a_whole_task_of_ten_thousand_runs_to_completion,
            created_profiles_are_read_back,
            a_taken_identity_fails_its_entry_alone,
            conflicts_within_and_across_slices_name_the_first_owner,
            updates_move_identities_between_profiles,
            an_unchanged_profile_keeps_its_time,
            ids_and_times_only_go_up,
            a_dry_run_changes_nothing,
            a_dry_run_sees_what_its_earlier_entries_would_leave,
            missing_profiles_are_errors_of_their_entries,
            profiles_are_got_in_whatever_order_they_are_named,
            payload_of_failed_entries_stays,
            domains_do_not_see_each_other,
            a_check_of_sound_data_finds_nothing,
        );
    };
    (issues $open:path) => {
        $crate::store_suite!(@ $open, filters:
            any_filters_find_what_a_naive_store_finds,
        );
        $crate::store_suite!(@ $open, issues:
            an_import_keeps_ids_and_times,
            an_issue_is_read_by_its_id_as_the_view_wants_it,
            a_taken_id_is_unchanged_or_a_conflict,
            later_blocks_of_a_chunk_know_the_issues_of_earlier_ones,
            instants_are_shifted_across_slices_and_tasks,
            an_import_makes_whom_it_names,
            authors_of_large_imports_have_all_their_issues,
            a_dry_import_changes_nothing_and_sees_itself,
            issues_belong_to_one_domain_and_go_with_it,
            deep_pages_are_those_of_a_naive_list,
            a_list_that_takes_too_long_says_so,
            lists_and_records_are_those_of_a_naive_store,
            the_cursor_procedure_delivers_each_issue_once,
        );
        $crate::store_suite!(@ $open, steps:
            a_walk_by_steps_is_the_whole_sorted_list,
            a_position_inside_a_tie_is_exact,
            a_step_ends_after_its_bytes_and_goes_on,
            a_position_outside_the_range_of_the_query_is_taken_for_its_end,
            a_step_that_takes_too_long_says_so,
        );
        $crate::store_suite!(@ $open, whole:
            a_store_with_something_in_every_table_is_sound,
        );
        $crate::store_suite!(@ $open, writing:
            a_new_issue_is_later_than_every_other,
            new_issues_go_on_after_the_largest_id,
            new_issues_go_on_at_the_end_of_time,
            whatever_is_written_is_found_and_counted,
            messages_at_once_are_all_there_in_the_order_of_their_times,
            a_bulk_edit_with_a_fault_changes_nothing,
            an_issue_cannot_grow_beyond_what_an_import_takes,
            a_repeat_gets_the_first_answer_and_writes_nothing,
            attachments_are_kept_with_their_message,
            what_no_message_claims_is_removed,
            a_lost_attachment_takes_its_message_along,
        );
    };
    (@ $open:path, $room:ident: $($behaviour:ident,)+) => {
        mod $room {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $behaviour() {
                    let (store, _keep) = $open();
                    $crate::suite::$room::$behaviour(store).await;
                }
            )+
        }
    };
}
