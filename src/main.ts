#!/usr/bin/env node
/**
 * The program. What it is made of is compiled once and kept by node, so that the next start need not compile it again. An older
 * Node than `engines` in package.json says must be able to read this file, since it says so.
 */
import * as nodeModule from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `voicegate needs Node 22.19 or newer, and this is ${process.versions.node}. In the project's folder, npx node runs the one that ` +
      "comes with its packages: npx node dist/main.js\n",
  )
  process.exit(1)
}
nodeModule.enableCompileCache()
await import("./commands/cli.ts")
