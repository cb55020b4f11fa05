//===- ManifestSchemaTest.cpp - Manifests against their schema ------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExampleManifest.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"

using namespace norm;
using norm::test::exampleManifest;
namespace json = llvm::json;

namespace {

/// Validates values by the keywords of JSON Schema that the manifest's schema
/// uses; an unknown keyword is a failure, so that none is passed over.
class Validator {
public:
  explicit Validator(const json::Object &root) : root(root) {}

  /// An empty text if `value` matches, else what doesn't.
  std::string check(const json::Object &schema, const json::Value &value,
                    const std::string &path) {
    // The other keywords rely on the type, and the fields have no order.
    if (std::optional<llvm::StringRef> type = schema.getString("type"))
      if (!hasType(*type, value))
        return path + ": wrong type";
    for (const auto &[key, rule] : schema)
      if (std::string problem = keyword(key, rule, schema, value, path);
          !problem.empty())
        return path + ": " + problem;
    return "";
  }

private:
  std::string keyword(llvm::StringRef key, const json::Value &rule,
                      const json::Object &schema, const json::Value &value,
                      const std::string &path);
  std::string properties(const json::Object &schema, const json::Object &object,
                         const std::string &path);

  static bool hasType(llvm::StringRef type, const json::Value &value) {
    return (type == "object" && value.getAsObject()) ||
           (type == "array" && value.getAsArray()) ||
           (type == "string" && value.getAsString()) ||
           (type == "integer" && value.getAsInteger()) ||
           (type == "boolean" && value.getAsBoolean()) ||
           (type == "null" && value.getAsNull());
  }

  const json::Object &root;
};

std::string Validator::properties(const json::Object &schema,
                                  const json::Object &object,
                                  const std::string &path) {
  const json::Object *known = schema.getObject("properties");
  for (const auto &[key, field] : object) {
    const json::Object *rule = known ? known->getObject(key) : nullptr;
    if (!rule)
      return "unknown field " + key.str();
    if (std::string problem = check(*rule, field, path + "." + key.str());
        !problem.empty())
      return problem;
  }
  return "";
}

std::string Validator::keyword(llvm::StringRef key, const json::Value &rule,
                               const json::Object &schema,
                               const json::Value &value,
                               const std::string &path) {
  if (key == "$schema" || key == "title" || key == "$defs" || key == "type" ||
      key == "additionalProperties")
    return ""; // `check` and `properties` see to them
  if (key == "$ref") {
    llvm::StringRef name = *rule.getAsString();
    EXPECT_TRUE(name.consume_front("#/$defs/"));
    return check(*root.getObject("$defs")->getObject(name), value, path);
  }
  if (key == "const")
    return value == rule ? "" : "wrong constant";
  if (key == "enum")
    return llvm::is_contained(*rule.getAsArray(), value) ? "" : "not in enum";
  if (key == "pattern")
    return llvm::Regex(*rule.getAsString()).match(*value.getAsString())
               ? ""
               : "wrong pattern";
  if (key == "minimum")
    return *value.getAsInteger() >= *rule.getAsInteger() ? "" : "too small";
  if (key == "maximum")
    return *value.getAsInteger() <= *rule.getAsInteger() ? "" : "too large";
  if (key == "minItems")
    return int64_t(value.getAsArray()->size()) >= *rule.getAsInteger()
               ? ""
               : "too short";
  if (key == "required") {
    for (const json::Value &name : *rule.getAsArray())
      if (!value.getAsObject()->get(*name.getAsString()))
        return "no field " + name.getAsString()->str();
    return "";
  }
  if (key == "properties")
    return properties(schema, *value.getAsObject(), path);
  if (key == "items") {
    for (const json::Value &item : *value.getAsArray())
      if (std::string problem = check(*rule.getAsObject(), item, path + "[]");
          !problem.empty())
        return problem;
    return "";
  }
  if (key == "oneOf") {
    int matches = 0;
    for (const json::Value &choice : *rule.getAsArray())
      matches += check(*choice.getAsObject(), value, path).empty();
    return matches == 1 ? "" : "matches " + std::to_string(matches) + " forms";
  }
  return "unknown keyword " + key.str();
}

class ManifestSchemaTest : public testing::Test {
protected:
  void SetUp() override {
    auto file =
        llvm::MemoryBuffer::getFile(NORM_DOCS_DIR "/manifest.schema.json");
    ASSERT_TRUE(bool(file));
    llvm::Expected<json::Value> parsed = json::parse((*file)->getBuffer());
    ASSERT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    schema = std::move(*parsed);
  }

  std::string problem(const json::Value &value) {
    const json::Object &root = *schema.getAsObject();
    return Validator(root).check(root, value, "");
  }

  json::Value schema = nullptr;
};

TEST_F(ManifestSchemaTest, EmittedManifestMatches) {
  EXPECT_EQ(problem(toJSON(exampleManifest())), "");
  Manifest empty;
  empty.target = "host";
  EXPECT_EQ(problem(toJSON(empty)), "");
  empty.math = MathMode::Hardware;
  EXPECT_EQ(problem(toJSON(empty)), "");
}

TEST_F(ManifestSchemaTest, OtherDocumentsDoNot) {
  json::Value value = toJSON(exampleManifest());
  json::Object &object = *value.getAsObject();
  object["version"] = 2;
  EXPECT_NE(problem(value).find(".version: wrong constant"), std::string::npos);
  object["version"] = 1;
  object["extra"] = 1;
  EXPECT_NE(problem(value).find("unknown field extra"), std::string::npos);
  object.erase("extra");
  object.erase("entry");
  EXPECT_NE(problem(value).find("no field entry"), std::string::npos);
  object["entry"] = "main";
  (*object.getArray("kernels")->front().getAsObject()->getArray("params"))[0] =
      json::Object{{"kind", "pointer"}};
  EXPECT_NE(problem(value).find("matches 0 forms"), std::string::npos);
}

TEST_F(ManifestSchemaTest, TheDocumentedExampleMatches) {
  auto file = llvm::MemoryBuffer::getFile(NORM_DOCS_DIR "/Manifest.md");
  ASSERT_TRUE(bool(file));
  llvm::StringRef example =
      (*file)->getBuffer().split("```json").second.split("```").first;
  llvm::Expected<json::Value> value = json::parse(example);
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  EXPECT_EQ(problem(*value), "");
  llvm::Expected<Manifest> manifest = parseManifest(example);
  ASSERT_TRUE(bool(manifest)) << llvm::toString(manifest.takeError());
  EXPECT_EQ(manifest->kernels.front().variants.size(), 2u);
}

TEST_F(ManifestSchemaTest, ListsEveryElementType) {
  const json::Array *names =
      schema.getAsObject()->getObject("$defs")->getObject("dtype")->getArray(
          "enum");
  ASSERT_EQ(names->size(), allDTypes().size());
  for (DType type : allDTypes())
    EXPECT_TRUE(llvm::is_contained(*names, json::Value(name(type))))
        << name(type).str();
}

} // namespace
