import { describe, expect, it } from "@effect/vitest"
import fc from "fast-check"
import { canonicalAddress, isPublic, limitKey, networkKey, parseAddress } from "../../../src/lib/ip/address.ts"
import { clientAddress, trustedProxies } from "../../../src/lib/ip/client-address.ts"

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

  it("maps every spelling of an IPv6 address to one text, which is stable", () => {
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
  it.each([
    ...[
      "8.8.8.8",
      "::ffff:1.1.1.1",
      "2606:4700::1111",
      "2002:808:808::1",
      "2001:0:1::1",
      "::8.8.8.8",
      "64:ff9b::8.8.8.8",
    ],
    // tunnels whose IPv4 address is not public: skipping them would allow callers to evade the check
    ...["2002:a00:1::1", "2001:0:1::f5ff:fffe"],
  ])("is true for %s", (address) => {
    expect(isPublic(address)).toBe(true)
  })

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
    // IPv4-compatible, NAT64 and SIIT forms of addresses that are not public
    "::7f00:1",
    "::10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::192.168.0.1",
    "::ffff:0:10.0.0.1",
    // discard-only (RFC 6666) and dummy (RFC 9780) prefixes, documentation (RFC 9637), and unassigned ranges
    "100::1",
    "100:0:0:1::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "1::1",
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

describe("IPv6 that embeds an IPv4 address", () => {
  // each of them embeds 8.8.4.4 = 0x08080404
  it.each([
    ["IPv4-compatible", "::808:404"],
    ["IPv4-translated (SIIT)", "::ffff:0:808:404"],
    ["NAT64", "64:ff9b::808:404"],
    ["local NAT64", "64:ff9b:1:2::808:404"],
    ["6to4", "2002:808:404:1:2:3:4:5"],
    ["Teredo", "2001:0:4136:e378:8000:63bf:f7f7:fbfb"],
  ])("counts and is looked up as that address: %s", (_, address) => {
    expect(limitKey(address)).toBe("8.8.4.4")
    expect(networkKey(address)).toBe("8.8.4.0/24")
    expect(parseAddress(address)).toMatchObject({ isPublic: true, lookupText: "8.8.4.4", factsKey: "8.8.4.4" })
    // it keeps its own text, so that it is not trusted like the IPv4 address
    expect(canonicalAddress(address)).toBe(address)
  })

  it("counts as that address even when it is not public", () => {
    expect(limitKey("::7f00:1")).toBe("127.0.0.1")
    expect(limitKey("64:ff9b::a00:1")).toBe("10.0.0.1")
    expect(limitKey("2002:c000:204::1")).toBe("192.0.2.4")
    expect(networkKey("::7f00:1")).toBe("")
    expect(networkKey("64:ff9b::a00:1")).toBe("")
  })

  it("is looked up and counted by network as itself when it is a tunnel and the IPv4 address is not public", () => {
    expect(networkKey("2002:a00:1:5::1")).toBe("2002:a00:1::/48")
    expect(parseAddress("2002:a00:1:5::1")).toMatchObject({
      isPublic: true,
      lookupText: "2002:a00:1:5::1",
      factsKey: "2002:a00:1:5::/64",
    })
  })

  it("ignores an IPv4 address in the half that the caller chooses (ISATAP)", () => {
    expect(limitKey("2606:4700:1:2:0:5efe:808:404")).toBe("2606:4700:1:2::/64")
    expect(limitKey("2606:4700:1:2:200:5efe:808:404")).toBe("2606:4700:1:2::/64")
  })

  it("does not apply to loopback and the unspecified address", () => {
    expect(limitKey("::1")).toBe("::/64")
    expect(limitKey("::")).toBe("::/64")
  })
})

describe("networkKey", () => {
  it("is the /24 of IPv4 and the /48 of IPv6", () => {
    expect(networkKey("8.8.4.200")).toBe("8.8.4.0/24")
    expect(networkKey("::ffff:223.255.255.1")).toBe("223.255.255.0/24")
    expect(networkKey("2606:4700:1:2:3:4:5:6")).toBe("2606:4700:1::/48")
    expect(networkKey("2606:4700:2::")).toBe("2606:4700:2::/48")
  })

  it.each(["127.0.0.1", "10.1.2.3", "192.0.2.1", "::1", "fd00::1", "2001:db8::1", "100:0:0:1::1", "nonsense", ""])(
    "is empty for %j",
    (address) => {
      expect(networkKey(address)).toBe("")
    },
  )
})

describe("clientAddress", () => {
  const trusted = trustedProxies(["127.0.0.1", "10.0.0.0/8", "2606:4700::/32"])
  const client = (socketAddress: string | undefined, value?: string, header = "x-forwarded-for") =>
    clientAddress({ socketAddress, header, value, trusted })

  it("is the socket's address, canonical, when there is no header", () => {
    expect(client("::ffff:8.8.8.8")).toBe("8.8.8.8")
    expect(client("10.0.0.1")).toBe("10.0.0.1")
  })

  it("is undefined when the socket has no address", () => {
    expect(client(undefined, "8.8.8.8")).toBeUndefined()
    expect(client("", "8.8.8.8")).toBeUndefined()
  })

  it("ignores the header when the socket is not a trusted proxy", () => {
    expect(client("8.8.8.8", "1.1.1.1")).toBe("8.8.8.8")
  })

  it("ignores the header when no proxy is trusted", () => {
    expect(
      clientAddress({
        socketAddress: "127.0.0.1",
        header: "forwarded",
        value: "for=1.1.1.1",
        trusted: trustedProxies([]),
      }),
    ).toBe("127.0.0.1")
  })

  it("is the nearest address that is not a trusted proxy, whatever the client forged to its left", () => {
    expect(client("10.0.0.1", "1.1.1.1, 9.9.9.9, 8.8.8.8")).toBe("8.8.8.8")
    expect(client("10.0.0.1", "1.1.1.1, 8.8.8.8, 10.2.3.4,127.0.0.1")).toBe("8.8.8.8")
    expect(client("::ffff:10.0.0.1", "10.9.9.9, 8.8.8.8")).toBe("8.8.8.8")
    expect(client("2606:4700::7", "8.8.8.8,2606:4700:1::1")).toBe("8.8.8.8")
  })

  it("does not trust an IPv6 address because it embeds the IPv4 address of a trusted proxy", () => {
    // 10.0.0.1 as 6to4, NAT64, IPv4-compatible and Teredo
    for (const address of ["2002:a00:1::", "64:ff9b::a00:1", "::a00:1", "2001:0:1::f5ff:fffe"]) {
      expect(client(address, "1.1.1.1")).toBe(address)
      expect(client("10.0.0.1", `1.1.1.1, ${address}`)).toBe(address)
    }
    const trustsNat64 = trustedProxies(["64:ff9b::a00:0/104"])
    expect(
      clientAddress({ socketAddress: "64:ff9b::a00:1", header: "x-real-ip", value: "8.8.8.8", trusted: trustsNat64 }),
    ).toBe("8.8.8.8")
  })

  it("is the leftmost address when every hop is a trusted proxy", () => {
    expect(client("10.0.0.1", "10.0.0.3, 10.0.0.2")).toBe("10.0.0.3")
  })

  it.each(["unknown", "8.8.8", "<script>", "_hidden", "8.8.8.8.8", "8.8.8.8:port", "[2606:4700::1"])(
    "stops at the entry %j and takes the last valid address",
    (garbage) => {
      expect(client("10.0.0.1", `1.1.1.1, ${garbage}, 10.0.0.2`)).toBe("10.0.0.2")
      expect(client("10.0.0.1", `1.1.1.1, ${garbage}`)).toBe("10.0.0.1")
      expect(client("10.0.0.1", garbage)).toBe("10.0.0.1")
    },
  )

  it("does not count empty entries, such as after a comma at the end (RFC 9110 §5.6.1)", () => {
    expect(client("10.0.0.1", ",")).toBe("10.0.0.1")
    expect(client("10.0.0.1", "")).toBe("10.0.0.1")
    expect(client("10.0.0.1", "8.8.8.8,")).toBe("8.8.8.8")
    expect(client("10.0.0.1", "1.1.1.1, 8.8.8.8, ,\t, 10.0.0.2, ,")).toBe("8.8.8.8")
    expect(client("10.0.0.1", ",10.0.0.2")).toBe("10.0.0.2")
  })

  describe("in another header", () => {
    it.each(["cf-connecting-ip", "true-client-ip", "x-real-ip"])("%s is that of the trusted proxy's client", (name) => {
      expect(client("10.0.0.1", "8.8.8.8", name)).toBe("8.8.8.8")
      expect(client("10.0.0.1", " 2a00:1450::1 ", name)).toBe("2a00:1450::1")
      expect(client("9.9.9.9", "8.8.8.8", name)).toBe("9.9.9.9")
    })

    it.each([
      ["for=8.8.8.8", "8.8.8.8"],
      ["For=8.8.8.8;proto=https;by=203.0.113.43", "8.8.8.8"],
      ['proto=http; for="8.8.8.8:4711"', "8.8.8.8"],
      ['for="[2a00:1450::1]:4711";host="a,b;c.example"', "2a00:1450::1"],
      ['for=1.1.1.1, for="8.8.8.8",for=10.0.0.9', "8.8.8.8"],
      ["for=1.1.1.1, for=8.8.8.8,", "8.8.8.8"],
      ["for=8.8.8.8, for=unknown", "10.0.0.1"],
      ['for=8.8.8.8, for="_hidden"', "10.0.0.1"],
      ["for=8.8.8.8, proto=https", "10.0.0.1"],
      ["for=8.8.8.8, for=10.0.0.2 by=x", "10.0.0.1"],
      ["8.8.8.8", "10.0.0.1"],
      ["", "10.0.0.1"],
    ])("Forwarded (RFC 7239): %s is %s", (value, expected) => {
      expect(client("10.0.0.1", value, "forwarded")).toBe(expected)
    })

    it("Forwarded: nothing that the client writes hides what the proxy adds, not even a quote that it leaves open", () => {
      const added = ['for="[2a00:1450::1]:4711";proto=https', "for=8.8.8.8"]
      for (const [index, element] of added.entries()) {
        const real = index === 0 ? "2a00:1450::1" : "8.8.8.8"
        for (const forged of [
          'for="1.1.1.1',
          'for=1.1.1.1;x="',
          'for=1.1.1.1;x="\\',
          '"',
          "for=1.1.1.1;",
          '\\"',
          "for=",
        ]) {
          expect(client("10.0.0.1", `${forged}, ${element}`, "forwarded")).toBe(real)
        }
        fc.assert(
          fc.property(fc.string(), (forged) => {
            expect(client("10.0.0.1", `${forged}, ${element}`, "forwarded")).toBe(real)
          }),
        )
      }
    })
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
  it("names an entry that is not an address or CIDR", () => {
    expect(() => trustedProxies(["10.0.0.0/8", "proxy.example"])).toThrow('"proxy.example"')
    expect(() => trustedProxies(["10.0.0.0/33"])).toThrow('"10.0.0.0/33"')
  })
})
