import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { canonicalAddress, isPublic, limitKey } from "../../src/ip-intel/address.ts"
import { clientAddress, trustedProxies } from "../../src/ip-intel/client-address.ts"

describe("canonicalAddress", () => {
  it.each([
    ["8.8.8.8", "8.8.8.8"],
    ["::ffff:8.8.8.8", "8.8.8.8"],
    ["::FFFF:808:808", "8.8.8.8"],
    ["[::ffff:8.8.8.8]", "8.8.8.8"],
    ["2606:4700:0000:0:0:0:0:1111", "2606:4700::1111"],
    ["[2606:4700::1111]", "2606:4700::1111"],
    ["2606:4700::ABCD", "2606:4700::abcd"],
    ["fe80::1%eth0", "fe80::1"],
    ["[fe80::1%25en0]", "fe80::1"],
  ])("writes %s as %s", (text, canonical) => {
    expect(canonicalAddress(text)).toBe(canonical)
  })

  it.each([
    "",
    " 8.8.8.8",
    "8.8.8",
    "010.1.1.1",
    "0x7f.1",
    "2130706433",
    "8.8.8.8:80",
    "256.1.1.1",
    "[8.8.8.8",
    "unknown",
    "localhost",
    "::ffff:8.8.8.8.8",
    "1::2::3",
    `1${":".repeat(500)}`,
  ])("takes %j for no address", (text) => {
    expect(canonicalAddress(text)).toBeUndefined()
    expect(isPublic(text)).toBe(false)
  })

  it("gives one text to every spelling of an IPv6 address, and keeps it", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 }), (parts) => {
        const long = parts.map((part) => part.toString(16).padStart(4, "0")).join(":")
        const short = parts.map((part) => part.toString(16).toUpperCase()).join(":")
        const canonical = canonicalAddress(long)
        expect(canonical).toBeDefined()
        expect(canonicalAddress(short)).toBe(canonical)
        expect(canonicalAddress(canonical ?? "")).toBe(canonical)
      }),
    )
  })
})

describe("isPublic", () => {
  it.each(["8.8.8.8", "::ffff:1.1.1.1", "2606:4700::1111", "2002:808:808::1", "2001:0:1::1"])(
    "is true for %s",
    (address) => {
      expect(isPublic(address)).toBe(true)
    },
  )

  it.each([
    "127.0.0.1",
    "::1",
    "::",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "::ffff:192.168.1.1",
    "169.254.1.1",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "192.0.2.1",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
  ])("is false for %s", (address) => {
    expect(isPublic(address)).toBe(false)
  })
})

describe("limitKey", () => {
  it("is an IPv4 address itself, in its mapped form too", () => {
    expect(limitKey("8.8.8.8")).toBe("8.8.8.8")
    expect(limitKey("::ffff:8.8.8.8")).toBe("8.8.8.8")
  })

  it("is the /64 of an IPv6 address", () => {
    expect(limitKey("2606:4700:1:2:3:4:5:6")).toBe("2606:4700:1:2::/64")
    expect(limitKey("2606:4700:1:2:ffff::")).toBe("2606:4700:1:2::/64")
    expect(limitKey("2606:4700:1:3::")).toBe("2606:4700:1:3::/64")
    expect(limitKey("::1")).toBe("::/64")
  })
})

describe("clientAddress", () => {
  const trusted = trustedProxies(["127.0.0.1", "10.0.0.0/8", "2606:4700::/32"])
  const client = (socketAddress: string | undefined, forwardedFor?: string) =>
    clientAddress({ socketAddress, forwardedFor, trusted })

  it("is the socket's address, canonical, when there is no header", () => {
    expect(client("::ffff:8.8.8.8")).toBe("8.8.8.8")
    expect(client("10.0.0.1")).toBe("10.0.0.1")
  })

  it("is undefined when the socket has no address", () => {
    expect(client(undefined, "8.8.8.8")).toBeUndefined()
    expect(client("", "8.8.8.8")).toBeUndefined()
  })

  it("does not believe a header from a socket that is no trusted proxy", () => {
    expect(client("8.8.8.8", "1.1.1.1")).toBe("8.8.8.8")
  })

  it("does not believe anyone when no proxy is trusted", () => {
    expect(clientAddress({ socketAddress: "127.0.0.1", forwardedFor: "1.1.1.1", trusted: trustedProxies([]) })).toBe(
      "127.0.0.1",
    )
  })

  it("is the nearest address that is no trusted proxy, whatever the client forged to the left of it", () => {
    expect(client("10.0.0.1", "1.1.1.1, 9.9.9.9, 8.8.8.8")).toBe("8.8.8.8")
    expect(client("10.0.0.1", "1.1.1.1, 8.8.8.8, 10.2.3.4,127.0.0.1")).toBe("8.8.8.8")
    expect(client("::ffff:10.0.0.1", "10.9.9.9, 8.8.8.8")).toBe("8.8.8.8")
    expect(client("2606:4700::7", "8.8.8.8,2606:4700:1::1")).toBe("8.8.8.8")
  })

  it("is the leftmost address when every hop is a trusted proxy", () => {
    expect(client("10.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3")
  })

  it.each(["unknown", "", "8.8.8", "<script>", "_hidden", "8.8.8.8.8", "8.8.8.8:port", "[2606:4700::1"])(
    "stops at the entry %j and takes the last good address",
    (garbage) => {
      expect(client("10.0.0.1", `1.1.1.1, ${garbage}, 10.0.0.2`)).toBe("10.0.0.2")
      expect(client("10.0.0.1", `1.1.1.1, ${garbage}`)).toBe("10.0.0.1")
      expect(client("10.0.0.1", garbage)).toBe("10.0.0.1")
    },
  )

  it("stops at empty entries at either end", () => {
    expect(client("10.0.0.1", ",")).toBe("10.0.0.1")
    expect(client("10.0.0.1", "8.8.8.8,")).toBe("10.0.0.1")
    expect(client("10.0.0.1", ",10.0.0.2")).toBe("10.0.0.2")
  })

  it("reads entries with a port, in brackets and mapped", () => {
    expect(client("10.0.0.1", "8.8.8.8:4711")).toBe("8.8.8.8")
    expect(client("10.0.0.1", "[2a00:1450::1]:4711")).toBe("2a00:1450::1")
    expect(client("10.0.0.1", "[2a00:1450::1]")).toBe("2a00:1450::1")
    expect(client("10.0.0.1", "2a00:1450::1")).toBe("2a00:1450::1")
    expect(client("10.0.0.1", "::ffff:8.8.8.8")).toBe("8.8.8.8")
  })

  it("is never an address to the left of the first untrusted one", () => {
    const anyIPv4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((octets) => octets.join("."))
    fc.assert(
      fc.property(fc.array(fc.oneof(anyIPv4, fc.constant("10.1.1.1"), fc.string())), anyIPv4, (forged, real) => {
        fc.pre(!real.startsWith("10.") && real !== "127.0.0.1")
        expect(client("10.0.0.1", [...forged, real, "10.5.5.5"].join(", "))).toBe(real)
      }),
    )
  })
})

describe("trustedProxies", () => {
  it("names an entry that is no address or CIDR", () => {
    expect(() => trustedProxies(["10.0.0.0/8", "proxy.example"])).toThrow('"proxy.example"')
    expect(() => trustedProxies(["10.0.0.0/33"])).toThrow('"10.0.0.0/33"')
  })
})
