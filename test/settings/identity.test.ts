/** The settings of identity, and those that need each other. */
import { assert, describe, it } from "@effect/vitest"
import { minimal, pathsOf, problemsOf, treeOf, values } from "./support.ts"

const SECRET = "a-secret-of-32-characters-or-more"
const withIdentity = (Identity: object, platform: object = {}) => ({
  ...minimal,
  VoiceAiPlatform: { ...minimal.VoiceAiPlatform, ...platform },
  Identity,
})

describe("the settings of identity", () => {
  it("take several secrets, of at least 32 bytes each", () => {
    const { Identity } = treeOf(withIdentity({ Secrets: [SECRET, `${SECRET}-old`] }))
    assert.deepStrictEqual(values(Identity.Secrets), [SECRET, `${SECRET}-old`])
    for (const short of ["x".repeat(31), "with a space in thirty-two characters"]) {
      const [problem] = problemsOf(withIdentity({ Secrets: [short] }))
      assert.strictEqual(problem?.path, "Identity.Secrets.0")
      assert.include(problem?.expected, "at least 32 characters")
      assert.notInclude(JSON.stringify(problem), short)
    }
  })

  it("refuse a secret that another door has too", () => {
    assert.deepStrictEqual(
      pathsOf({ ...withIdentity({ Secrets: [SECRET] }), Security: { WebhookApiToken: SECRET } }).length,
      1,
    )
  })

  it("take keys over https, or from this machine", () => {
    for (const JwksUrl of ["https://id.example/keys?tenant=1", "http://127.0.0.1:9/keys", "http://localhost:9/keys"]) {
      assert.strictEqual(treeOf(withIdentity({ JwksUrl, Audience: "gate" })).Identity.JwksUrl, new URL(JwksUrl).href)
    }
    for (const JwksUrl of ["http://id.example/keys", "https://user:password@id.example/keys", "/keys"]) {
      assert.deepStrictEqual(pathsOf(withIdentity({ JwksUrl, Audience: "gate" })), ["Identity.JwksUrl"])
    }
  })

  it("require an audience with keys of a server that signs for others too", () => {
    assert.deepStrictEqual(pathsOf(withIdentity({ JwksUrl: "https://id.example/keys" })), ["Identity.Audience"])
  })

  it("refuse to require tokens that no key can check", () => {
    for (const given of [withIdentity({ Required: true }), withIdentity({}, { IdentityRequired: true })]) {
      assert.deepStrictEqual(pathsOf(given), ["Identity.Secrets"])
    }
    assert.deepStrictEqual(pathsOf(withIdentity({ SingleUse: true })), ["Identity.Secrets"])
    const { Campaigns } = treeOf(withIdentity({ Secrets: [SECRET] }, { IdentityRequired: true }))
    assert.isTrue(Campaigns[0].IdentityRequired)
  })
})
