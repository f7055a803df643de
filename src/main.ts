#!/usr/bin/env node
/** The program. What it is made of is compiled once and kept by node, so that the next start need not compile it again. */
import { enableCompileCache } from "node:module"

enableCompileCache()
await import("./commands/cli.ts")
