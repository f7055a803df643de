/** The prefix of the gate's keys and channels in Redis: `app:` makes `app:vg:…` of `vg:…`. */
import { Result } from "effect"

/** Visible ASCII without braces, which make the hash tag of a Cluster, and without signs that have a meaning in a pattern of an ACL. */
const PREFIX = /^[!-~]{1,64}$/
const REFUSED = /[{}[\]*?\\]/

/** What every key of the gate begins with after the prefix. A rule finds the prefix of its channels by it (`store/rules/redis/commands.ts`). */
const OWN = "vg:"

/** Fails with what is expected. */
export const parseKeyPrefix = (text: string): Result.Result<string, string> =>
  PREFIX.test(text) && !REFUSED.test(text) && !text.includes(OWN)
    ? Result.succeed(text)
    : Result.fail(
        "keyPrefix as 1 to 64 visible ASCII characters, such as app:, without { } [ ] * ? \\ and without vg:, which the gate adds",
      )
