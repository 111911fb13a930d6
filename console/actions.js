// The actions of tasks, as callers choose them: `table` if rows of a table can be its entries,
// `patches` if dry runs show changes field by field, `reads` if it writes nothing.

/** @type {Record<string, {does: string, table?: true, patches?: true, reads?: true}>} */
export const ACTIONS = {
  create_core_profiles: { does: "Create people", table: true },
  upsert_core_profiles: {
    does: "Create or update people, by identity",
    table: true,
    patches: true,
  },
  update_core_profiles: {
    does: "Update people, by id or identity",
    table: true,
    patches: true,
  },
  delete_core_profiles: { does: "Delete people, by id or identity", table: true },
  update_app_profiles: { does: "Update app profiles, by app profile id", patches: true },
  delete_app_profiles: { does: "Delete app profiles, by app profile id" },
  import_issues: { does: "Import issues" },
  delete_issues: { does: "Delete issues, by id" },
  get_core_profiles: { does: "Export people, by profile id", reads: true },
  get_app_profiles: { does: "Export app profiles, by app profile id", reads: true },
};
