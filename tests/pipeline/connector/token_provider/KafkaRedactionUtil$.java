package org.apache.spark.kafka010;

import scala.Tuple2;
import scala.collection.immutable.Seq;

/** What the connector's debug lines show of settings: the names. */
public final class KafkaRedactionUtil$ {
  public static final KafkaRedactionUtil$ MODULE$ = new KafkaRedactionUtil$();
  private static final String HIDDEN = "(hidden)";

  private KafkaRedactionUtil$() {}

  @SuppressWarnings("unchecked") // to javac, toSeq has lost its type parameter
  public Seq<Tuple2<String, String>> redactParams(Seq<Tuple2<String, Object>> settings) {
    return settings.map(setting -> new Tuple2<>(setting._1(), HIDDEN)).toSeq();
  }
}
