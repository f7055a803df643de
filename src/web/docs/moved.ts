/** Sections that have moved to another page, so that links to their old addresses lead to them. `page.ts` loads this script for an unknown section. */

/** By the page where they were: those that have kept their names, by the page where they are. */
const KEPT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  control: {
    "control-reference":
      "order-of-checks what-stays-by-address inside-an-application what-counts-and-where what-the-vendor-says when-something-breaks what-is-kept limits",
  },
  embedding: {
    application:
      "the-package hosts fastify-without-middie web-standard-requests events-and-readiness operating-from-the-host the-redis-client-of-your-application your-own-platform-store-and-facts-about-addresses",
    wire: "widget-of-the-net-middleware",
    speed: "what-is-loaded-when how-late-the-sound-is",
    widget:
      "attributes consent-rating-and-other-extras consent rating a-small-window another-device languages what-the-widget-does",
    effect:
      "exports on-your-own-httprouter time-limits-of-your-own-layers your-own-platformapi testing-your-application",
  },
  operating: {
    deploying:
      "instances two-gates-behind-nginx systemd containers proxies-and-addresses callers-who-are-not-checked connections shutdown",
    failures:
      "the-state-of-the-platform the-platform-refuses-the-gate the-platform-is-full the-platform-cannot-be-reached a-start-fails starts-in-doubt circuit-breaker session-ids",
    monitoring: "logs metrics alerts shadow-mode traces",
    privacy: "personal-data hashed-addresses forget-a-caller local-platform",
    redis: "redis keys failover redis-refuses-commands damaged-records clocks different-databases",
    upgrading: "changing-settings upgrading different-settings removing-a-campaign",
  },
  promises: {
    speed: "requests-a-second time-and-cost memory spread why-it-is-fast",
  },
}

/** Those whose names are others now. */
const RENAMED: Readonly<Record<string, string>> = {
  "control#example-a-shop": "control#a-shop",
  "control#example-a-shop-1": "control#a-shop",
  "control#privacy": "control-reference#hashed-addresses-and-removal",
  "embedding#agents-of-other-vendors": "vendor-sdks",
  "embedding#vapi-and-other-vendors-the-sdk": "vendor-sdks",
  "embedding#properties-events-and-style": "widget#properties",
  "embedding#your-own-user-interface": "headless",
  "embedding#inside-an-application-with-promises": "application#creategate",
  "embedding#inside-an-effect-application": "effect",
  "embedding#what-a-host-sees-of-its-gate": "application#operating-from-the-host",
  "promises#speed": "speed",
  "start#3-put-the-widget-on-your-page": "start#4-put-the-widget-on-your-page",
  "start#3-give-the-gate-https": "start#5-give-the-gate-https",
  "start#4-tell-the-gate-when-a-call-ends": "start#6-tell-the-gate-when-a-call-ends",
  "start#5-tell-the-gate-when-a-call-ends": "start#6-tell-the-gate-when-a-call-ends",
}

/** Where each section is that was elsewhere: `operating#keys` is `redis#keys`. */
export const MOVED: ReadonlyMap<string, string> = new Map([
  ...Object.entries(KEPT).flatMap(([from, pages]) =>
    Object.entries(pages).flatMap(([to, anchors]) =>
      anchors.split(" ").map((anchor): [string, string] => [`${from}#${anchor}`, `${to}#${anchor}`]),
    ),
  ),
  ...Object.entries(RENAMED),
])
