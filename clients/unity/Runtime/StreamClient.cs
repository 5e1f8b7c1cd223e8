// The socket, in a thread of its own: it keeps the newest pose and nothing older.
using System;
using System.Threading;
using NetMQ;
using NetMQ.Sockets;

namespace Duocap
{
    public sealed class StreamClient : IDisposable
    {
        readonly Thread thread;
        readonly object gate = new object();
        volatile bool running = true;
        Skeleton skeleton;
        Pose pose;

        /// Poses lost on the way, by their numbers; messages that could not be read.
        public long Missed { get; private set; }
        public long Malformed { get; private set; }

        public StreamClient(string address)
        {
            thread = new Thread(() => Listen(address)) { IsBackground = true, Name = "duocap" };
            thread.Start();
        }

        /// Take the newest pose that has not been taken yet; false if there is none, or its skeleton is not known yet.
        public bool TryTake(out Skeleton itsSkeleton, out Pose newest)
        {
            lock (gate)
            {
                itsSkeleton = skeleton;
                newest = pose;
                bool fits = pose != null && skeleton != null && pose.Hash == skeleton.Hash && pose.Rotations.Length == skeleton.Names.Count;
                if (fits) pose = null;
                return fits;
            }
        }

        public void Dispose()
        {
            running = false;
            thread.Join(1000);
        }

        void Listen(string address)
        {
            AsyncIO.ForceDotNet.Force(); // Unity's runtime lacks the completion ports that NetMQ would use
            using (var socket = new SubscriberSocket())
            {
                socket.Options.ReceiveHighWatermark = 16;
                socket.Options.Linger = TimeSpan.Zero;
                socket.Connect(address);
                socket.Subscribe("skeleton ");
                socket.Subscribe("pose ");
                long last = -1;
                string session = null;
                while (running)
                {
                    byte[] payload;
                    if (!socket.TryReceiveFrameBytes(TimeSpan.FromMilliseconds(100), out payload)) continue;
                    try { Keep(Messages.Decode(payload), ref last, ref session); }
                    catch (MalformedMessageException) { Malformed++; }
                }
            }
        }

        void Keep(object message, ref long last, ref string session)
        {
            lock (gate)
            {
                if (message is Skeleton) skeleton = (Skeleton)message;
                var next = message as Pose;
                if (next == null) return;
                if (next.Session == session) Missed += Math.Max(0, next.Seq - last - 1);
                last = next.Seq;
                session = next.Session;
                pose = next;
            }
        }
    }
}
