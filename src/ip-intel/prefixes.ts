/** How much of an IPv6 address is one caller, and how much is one network. Of IPv4 that is the whole address, and a /24. */

/** Bits. A subnet of IPv6 has 64 (RFC 7421), and its holder can use every address in it. */
export const CALLER_BITS = 64
/** Bits. A site is usually given a /48 to a /56 (RFC 6177). */
export const NETWORK_BITS = 48
