/** The log says when the process runs out of file descriptors: the system then closes connections silently. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as FileDescriptors from "../../../src/cli/serve/file-descriptors.ts"
import { layer as logLayer } from "../../../src/lib/log.ts"

describe("file descriptors", () => {
  it.effect("are reported once when they become scarce, when none is left, and when there are enough again", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      let open = 10
      yield* Layer.build(
        FileDescriptors.layer.pipe(
          Layer.provide(
            Layer.mergeAll(
              Layer.succeed(FileDescriptors.ReadDescriptors, () => ({ open, max: 100 })),
              logLayer((text) => lines.push(JSON.parse(text).message), "json"),
            ),
          ),
        ),
      )
      for (const next of [10, 85, 90, 100, 100, 20, 20]) {
        open = next
        yield* TestClock.adjust("5 seconds")
      }
      assert.deepStrictEqual(
        lines.map((line) => line.split(/[:.]/, 1)[0]),
        [
          "85 of 100 file descriptors are open",
          "No file descriptor is left (100 are open)",
          "Enough file descriptors are free again",
        ],
      )
    }).pipe(Effect.scoped),
  )
})
