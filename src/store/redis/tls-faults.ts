/** Which fault of TLS an error shows. Apart from the client, so that naming a problem loads no ioredis. */

/** Which fault of TLS an error shows, by a pattern of its code or text. The first match counts. */
const FAULTS: ReadonlyArray<readonly [RegExp, string]> = [
  [
    /CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/,
    "the server's certificate has expired or is not valid yet (TLS): renew it, and check the clocks",
  ],
  [
    /ERR_TLS_CERT_ALTNAME_INVALID|does not match certificate/i,
    "the server's certificate is for another name (TLS): connect by a name that it has, or give that as sslHost in the form host:port,ssl=true,sslHost=name",
  ],
  [
    /SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)|self.signed|unable to (?:verify|get)/i,
    "the server's certificate is from an authority that this machine does not know (TLS): name the authority's file in NODE_EXTRA_CA_CERTS",
  ],
  [
    /certificate.required|peer did not return a certificate|CERTIFICATE_REQUIRED/i,
    "the server demands a client certificate (TLS), and the gate has none: set tls-auth-clients no at the server",
  ],
  [
    /WRONG_VERSION_NUMBER|wrong version number|PACKET_LENGTH_TOO_LONG|packet length too long|HTTP_REQUEST/i,
    "the server does not speak TLS on this port: use its TLS port, or redis:// if it has none",
  ],
  [
    /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|NO_PROTOCOLS|handshake.failure|no.shared.cipher/i,
    "the server and the gate share no version or cipher of TLS, or the server demands a client certificate (TLS)",
  ],
  // a TLS alert in answer to a command that was not encrypted
  [/as reply type byte/, "the server speaks TLS on this port: use rediss://, or ssl=true in the form host:port"],
  [/ERR_SSL|ERR_TLS|_CERT_|\bSSL\b|\bTLS\b/, "TLS to the server fails"],
]

/** The fault of TLS that an error shows, by its texts and codes; undefined for another error. */
export const tlsFault = (texts: ReadonlyArray<string>): string | undefined =>
  FAULTS.find(([pattern]) => pattern.test(texts.join(" ")))?.[1]
