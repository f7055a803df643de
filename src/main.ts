#!/usr/bin/env node
/**
 * The program's entry. It enables Node's compile cache, so that later starts are faster. Node versions older than `engines` in
 * package.json must be able to parse this file, because it tells their users to upgrade: the build copies it, so it has no types.
 */
import * as nodeModule from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `voicegate needs Node 22.19 or newer; this is ${process.versions.node}. The project's packages include a suitable Node. ` +
      "In the project's folder, run:\n" +
      '  export PATH="$PWD/node_modules/node/bin:$PATH"\n' +
      "Then run node dist/main.js again.\n",
  )
  process.exit(1)
}
nodeModule.enableCompileCache()
await import("./cli/cli.ts")
