/**
 * Tests of an application that uses voicegate: a gate in memory with a fake platform, on the test's clock.
 *
 *     it.effect("the second caller waits", () =>
 *       Effect.gen(function* () {
 *         const gate = yield* Gatekeeper
 *         …
 *       }).pipe(Effect.provide(layerTest())))
 */

export { Sideband } from "../platform-api/shared/sideband.ts"
export { connect, type FakeCaller } from "./FakeCaller.ts"
export { FakeIpIntel, layer as layerFakeIpIntel } from "./FakeIpIntel.ts"
export { FakePlatform, type FakeSession, hangUp, layer as layerFakePlatform } from "./FakePlatform.ts"
export type { FakeVendor, VendorAnswer, VendorRequest, VendorTrouble } from "./FakeVendor.ts"
export * from "./fakes.ts"
export { layer as layerTest, type TestSettings } from "./layer.ts"
