import { describe } from "@effect/vitest"
import { onEveryStore } from "../harness/stores.ts"
import { storeContract } from "./store.contract.ts"

describe("Store", () => onEveryStore(storeContract))
