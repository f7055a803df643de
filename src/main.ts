#!/usr/bin/env node
/**
 * The program's entry. It enables Node's compile cache, so that later starts are faster. Node versions older than `engines` in
 * package.json must be able to parse this file, because it tells their users to upgrade: the build copies it, so it has no types.
 */
import * as nodeModule from "node:module"
import { setFlagsFromString } from "node:v8"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `voicegate needs Node 22.19 or newer; this is ${process.versions.node}. The project's packages include a suitable Node. ` +
      "In the project's folder, run: npx node dist/main.js\n",
  )
  process.exit(1)
}
/*
 * Otherwise V8 soon allocates some of a request's objects in the old generation, because many of them survive while the heap is small.
 * There they outlive the request and keep alive all that they refer to, so each minor collection copies megabytes of garbage
 * (measured: 5 ms every 250 ms under load, instead of 1 ms).
 */
setFlagsFromString("--no-allocation-site-pretenuring")
nodeModule.enableCompileCache()
await import("./commands/cli.ts")
