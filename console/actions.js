// The actions of tasks, as callers choose them: `table` if rows of a table can be its entries,
// `patches` if dry runs show changes field by field, `reads` if it writes nothing.

/** @type {Record<string, {does: string, table?: true, patches?: true, reads?: true}>} */
export const ACTIONS = {
  create_core_profiles: { does: "create profiles", table: true },
  upsert_core_profiles: {
    does: "create or update profiles, by identity",
    table: true,
    patches: true,
  },
  update_core_profiles: {
    does: "update profiles, by id or identity",
    table: true,
    patches: true,
  },
  delete_core_profiles: { does: "delete profiles, by id or identity", table: true },
  update_app_profiles: { does: "update app profiles, by pid", patches: true },
  delete_app_profiles: { does: "delete app profiles, by pid" },
  import_issues: { does: "import issues" },
  delete_issues: { does: "delete issues, by id" },
  get_core_profiles: { does: "export profiles by core-profile-id", reads: true },
  get_app_profiles: { does: "export app profiles by pid", reads: true },
};
