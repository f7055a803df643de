/** What an upgrade from the last release is tried with; a test is skipped where there is none. */
import { type Bench, makeBench } from "../../harness/gate.ts"
import { type LastRelease, lastRelease, noLastRelease } from "../../harness/last-release.ts"
import { startRedis } from "../../harness/redis.ts"
import { type FakePlatform, startPlatform } from "../../harness/servers.ts"
import { settings, settingsFile } from "./reload.ts"

interface Upgrade {
  readonly bench: Bench
  readonly released: LastRelease
  readonly platform: FakePlatform
  /** arguments of a gate of either version, on one Redis */
  readonly args: ReadonlyArray<string>
}

export const upgrading =
  (body: (upgrade: Upgrade) => Promise<void>) =>
  async ({ skip }: { readonly skip: (why: string) => void }): Promise<void> => {
    const absent = noLastRelease()
    if (absent !== undefined) return skip(absent)
    const bench = makeBench()
    try {
      const released = bench.own(lastRelease())
      const redis = bench.own(await startRedis())
      const platform = bench.own(await startPlatform())
      const file = settingsFile(bench)
      file.write(settings({ store: redis.url, platform }))
      await body({ bench, released, platform, args: ["--config", file.path] })
    } finally {
      await bench.dispose()
    }
  }
