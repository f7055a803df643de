/** What an upgrade is tried with, from the last release or from another commit; a test is skipped where that is absent. */
import { type Commit, type EarlierProgram, LAST_RELEASE, programAt, whyAbsent } from "../../harness/earlier-program.ts"
import { type Bench, makeBench } from "../../harness/gate.ts"
import { type RedisServer, startRedis } from "../../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../../harness/servers.ts"
import { settings, settingsFile } from "./reload.ts"

interface Upgrade {
  readonly bench: Bench
  readonly released: EarlierProgram
  readonly platform: FakePlatform
  readonly redis: RedisServer
  /** arguments of a gate of either version, on one Redis */
  readonly args: ReadonlyArray<string>
}

export const upgrading =
  (body: (upgrade: Upgrade) => Promise<void>, from: Commit = LAST_RELEASE) =>
  async ({ skip }: { readonly skip: (why: string) => void }): Promise<void> => {
    const absent = whyAbsent(from)
    if (absent !== undefined) return skip(absent)
    const bench = makeBench()
    try {
      const released = await programAt(from)
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const file = settingsFile(bench)
      file.write(settings({ store: redis.url, platform }))
      await body({ bench, released, platform, redis, args: ["--config", file.path] })
    } finally {
      await bench.dispose()
    }
  }
