import { describe, expect, it } from "@effect/vitest"
import { dataOfConfig, type StoredConfig, storedConfigOf } from "../../../src/gatekeeper/calls/stored-config.ts"

const plain: StoredConfig = {
  campaign: "default",
  regionId: "eu",
  transportType: 0,
  dynamicVariables: {},
  metadata: {},
  audio: {},
  from: "1k2",
}

describe("the stored data of a ticket", () => {
  it("leaves out variables and metadata that are empty, and is read with them", () => {
    const data = dataOfConfig(plain)
    expect(Object.keys(JSON.parse(data))).toEqual(["campaign", "regionId", "transportType", "audio", "from"])
    expect(storedConfigOf(data)).toEqual(plain)
  })

  it("keeps what the caller has sent", () => {
    const sent = {
      ...plain,
      clientIdentifier: "shop-42",
      dynamicVariables: { name: "Ada" },
      metadata: { page: "/cart" },
    }
    expect(storedConfigOf(dataOfConfig(sent))).toEqual(sent)
  })

  it("of a gate that stored empty variables and metadata is read as it was", () => {
    expect(storedConfigOf(JSON.stringify(plain))).toEqual(plain)
  })

  it("that no gate has written is refused", () => {
    for (const data of ["", "null", "1", '"text"', "{"]) expect(storedConfigOf(data)).toBeUndefined()
  })
})
