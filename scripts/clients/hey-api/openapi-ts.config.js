// Node wants the ends of file names in imports.
export default {
  input: process.env.OPENAPI,
  output: { path: "hey-api/client", module: { extension: ".js" } },
};
