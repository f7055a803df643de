import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import {
  digestSecret,
  displaySecret,
  hasSecretForm,
  mintSecret,
  sameDigest,
} from "../../../src/platform/keys/KeySecret.ts"

describe("the secret of an API key", () => {
  it("has the prefix, 256 bits in base62 and a checksum", () => {
    for (let i = 0; i < 200; i++) {
      const secret = Redacted.value(mintSecret())
      assert.match(secret, /^vgp_[0-9A-Za-z]{49}$/)
      assert.isTrue(hasSecretForm(secret))
    }
  })

  it("is not minted twice", () => {
    assert.strictEqual(new Set(Array.from({ length: 100 }, () => Redacted.value(mintSecret()))).size, 100)
  })

  it("is refused with any one character changed, missing or added", () => {
    const secret = Redacted.value(mintSecret())
    for (let i = 0; i < secret.length; i++) {
      const other = secret.charAt(i) === "a" ? "b" : "a"
      assert.isFalse(hasSecretForm(secret.slice(0, i) + other + secret.slice(i + 1)))
    }
    assert.isFalse(hasSecretForm(secret.slice(0, -1)))
    assert.isFalse(hasSecretForm(`${secret}0`))
    assert.isFalse(hasSecretForm(` ${secret}`))
    assert.isFalse(hasSecretForm(""))
  })

  it("is kept as SHA-256 and shown as its prefix and last four characters", () => {
    assert.strictEqual(digestSecret("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    const secret = Redacted.value(mintSecret())
    assert.strictEqual(displaySecret(secret), `vgp_…${secret.slice(-4)}`)
    assert.isTrue(sameDigest(digestSecret(secret), digestSecret(secret)))
    assert.isFalse(sameDigest(digestSecret(secret), digestSecret(`${secret}x`)))
    assert.isFalse(sameDigest(digestSecret(secret), "short"))
  })
})
