/** The list of settings that `--print-config` prints. */
import { assert, describe, it } from "@effect/vitest"
import { listingText, listSettings } from "../../../src/settings/showing/listing.ts"
import { flatten } from "../../../src/settings/sources/flat.ts"
import { variablesOf } from "../../../src/settings/sources/variables.ts"

describe("the list of settings", () => {
  const listed = listSettings(
    flatten({ VoiceAiPlatform: { BusinessId: "b1" }, Security: { TrustedProxies: ["10.0.0.1"] } }, variablesOf({}), []),
  )
  const at = (path: string) => {
    const { from, value } = listed.find((each) => each.path === path) ?? {}
    return [value, from]
  }

  it("says clearly what is not set, and what applies instead", () => {
    assert.deepStrictEqual(at("VoiceAiPlatform.BaseUrl"), ["not set", "required"])
    assert.deepStrictEqual(at("VoiceAiPlatform.MaxConcurrency"), ["not set", "default: from the platform"])
    assert.deepStrictEqual(at("IpIntel.ApiKey"), ["not set", "default: none"])
    assert.deepStrictEqual(at("Security.ConsoleToken"), ["not set", "default: off"])
    assert.deepStrictEqual(at("Security.AllowedOrigins"), ["not set", "default: none"])
  })

  it("shows nothing of a body that may contain keys, nor its values in another setting", () => {
    const text = listingText(
      listSettings(
        flatten(
          {
            VoiceAiPlatform: {
              Generic: {
                StartBody: '{"auth":["pass-9f2c"],"plan":"{{agent}} gold-member"}',
                StartPath: "calls?key=pass-9f2c",
                AgentId: "agent-pass-9f2c",
                SessionIdField: "auth.id",
              },
            },
          },
          variablesOf({ VoiceAiPlatform__Campaigns__named__Generic__StartBody: '["pass-77aa"]' }),
          [],
        ),
      ),
    )
    assert.notMatch(text, /pass-9f2c|gold-member|pass-77aa/)
    assert.match(text, /Generic\.StartBody +\*\*\* +in the settings file/)
    assert.match(text, /named\.Generic\.StartBody +\*\*\* +in the environment/i)
    // the names of its fields are no secrets
    assert.match(text, /Generic\.SessionIdField +"auth\.id"/)
  })

  it("shows values that are given or are the default", () => {
    assert.deepStrictEqual(at("VoiceAiPlatform.BusinessId")[0], '"b1"')
    assert.deepStrictEqual(at("Security.TrustedProxies.0")[0], '"10.0.0.1"')
    assert.deepStrictEqual(at("Queue.MaxLength"), ["10000", "default"])
    assert.include(listingText(listed), "\nQueue.MaxLength ")
  })
})
